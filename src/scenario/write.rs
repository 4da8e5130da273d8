//! A scenario as TOML, every default spelled out: what a record keeps as "the scenario as run".

use std::fmt::{Display, Write};
use std::time::Duration;

use super::spec::{
    ArmSpec, CacheSpec, FaultSpec, FaultStart, Fence, LockKind, OnLoss, Password, Persistence, Popularity, Renew,
    Scenario, ServiceTime, StockIn, Update, WorkloadSpec,
};
use super::value::show;
use crate::model::{Target, Wait};

impl Scenario {
    /// The effective scenario; [`super::parse`] reads it back to an equal one, but for a password of its database.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = Toml(String::new());
        out.pair("title", quote(&self.title));
        out.pair("duration", time(self.duration));
        out.pair("warmup", time(self.warmup));
        out.pair("seed", self.seed);
        out.header("[lab]");
        out.pair("hosts", self.lab.hosts);
        out.pair("persistence", quote(persistence(self.lab.persistence)));
        out.optional("port", self.lab.port);
        out.pair("password", quote(password(self.lab.password)));
        out.header("[swarm]");
        out.pair("servers", self.swarm.servers);
        out.pair("workers", self.swarm.workers);
        out.optional("rate", self.swarm.rate.map(float));
        if self.swarm.rate.is_some() {
            out.pair("balance", quote(self.swarm.balance.name()));
            out.pair("arrivals", quote(self.swarm.arrivals.name()));
        }
        out.optional("requests", self.swarm.requests);
        out.pair("ramp", time(self.swarm.ramp));
        out.pair("think", time(self.swarm.think));
        out.header("[workload]");
        out.workload(&self.workload);
        out.header("[database]");
        match &self.database.url_env {
            Some(name) => out.pair("url_env", quote(name)),
            None => out.pair("url", quote(&self.database.url.to_string())),
        }
        out.pair("read", service_time(self.database.read));
        out.pair("pool", self.database.pool);
        for arm in &self.arms {
            out.arm(arm, &self.workload);
        }
        for fault in &self.faults {
            out.fault(fault);
        }
        out.expect(self);
        out.0
    }
}

struct Toml(String);

impl Toml {
    fn header(&mut self, header: &str) {
        self.line(format_args!("\n{header}"));
    }

    fn pair(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {value}"));
    }

    fn optional(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.pair(key, value);
        }
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn workload(&mut self, workload: &WorkloadSpec) {
        match workload {
            WorkloadSpec::Inventory(inventory) => {
                self.pair("kind", quote("inventory"));
                self.pair("products", inventory.products);
                self.pair("stock", inventory.stock);
                self.pair("popularity", popularity(inventory.popularity));
                self.pair("hold", service_time(inventory.hold));
                let place = match inventory.stock_in {
                    StockIn::Database => "database",
                    StockIn::Redis => "redis",
                };
                self.pair("stock_in", quote(place));
            }
            WorkloadSpec::CacheFill { caches } => {
                self.pair("kind", quote("cache-fill"));
                caches.iter().for_each(|cache| self.cache(cache));
            }
        }
    }

    fn cache(&mut self, cache: &CacheSpec) {
        self.header("[[workload.cache]]");
        self.pair("name", quote(&cache.name));
        self.pair("keys", cache.keys);
        self.pair("popularity", popularity(cache.popularity));
        self.pair("state_ttl", time(cache.state_ttl));
        self.pair("data_ttl", time(cache.data_ttl));
        self.optional("pages", cache.pages);
        self.pair("weight", float(cache.weight));
    }

    /// Only the keys that the reader accepts for this lock and workload.
    fn arm(&mut self, arm: &ArmSpec, workload: &WorkloadSpec) {
        self.header("[[arm]]");
        self.pair("name", quote(&arm.name));
        let lock = match arm.lock {
            LockKind::None => "none",
            LockKind::Local => "local",
            LockKind::Single => "single",
            LockKind::Redlock => "redlock",
        };
        self.pair("lock", quote(lock));
        if arm.lock == LockKind::Single {
            self.pair("host", arm.host.0);
        }
        if arm.lock.uses_nodes() {
            self.pair("ttl", time(arm.ttl));
            self.pair("renew", renew(arm.renew));
            self.pair("node_timeout", time(arm.node_timeout));
            let on_loss = match arm.on_loss {
                OnLoss::CarryOn => "carry-on",
                OnLoss::Abort => "abort",
            };
            self.pair("on_loss", quote(on_loss));
        }
        if arm.lock.uses_nodes() || (arm.lock == LockKind::Local && arm.wait == Wait::FailFast) {
            self.pair("wait", wait(arm.wait));
        }
        if arm.lock != LockKind::None {
            self.pair("timeout", time(arm.timeout));
        }
        match workload {
            WorkloadSpec::Inventory(_) => {
                let update = match arm.update {
                    Update::ReadWrite => "read-write",
                    Update::Atomic => "atomic",
                };
                self.pair("update", quote(update));
                let fence = match arm.fence {
                    Fence::Off => "off",
                    Fence::Write => "write",
                    Fence::ReadWrite => "read-write",
                };
                self.pair("fence", quote(fence));
            }
            WorkloadSpec::CacheFill { .. } if arm.lock != LockKind::None => {
                self.pair("serve_stale", arm.serve_stale);
                self.pair("second_look", arm.second_look);
            }
            WorkloadSpec::CacheFill { .. } => {}
        }
    }

    fn fault(&mut self, fault: &FaultSpec) {
        self.header("[[fault]]");
        match &fault.start {
            FaultStart::At(at) => self.pair("at", time(*at)),
            FaultStart::When(condition) => self.pair("when", quote(&condition.text)),
            FaultStart::After(number, delay) => {
                self.pair("after", quote(&format!("fault:{number} + {}", show(*delay))))
            }
        }
        self.pair("do", quote(fault.action.name()));
        self.pair("on", quote(&targets(&fault.targets)));
        self.optional("for", fault.lasts.map(time));
    }

    /// Comparisons of one figure share its key, since a key can be written only once.
    fn expect(&mut self, scenario: &Scenario) {
        if !scenario.expect.is_empty() {
            self.header("[expect]");
        }
        for same in scenario.expect.chunk_by(|a, b| a.arm == b.arm && a.metric == b.metric) {
            let bounds: Vec<&str> = same.iter().map(|expectation| expectation.text.as_str()).collect();
            for first in same.iter().take(1) {
                let key = format!("{}.{}", first.arm, first.metric.name());
                self.pair(&quote(&key), quote(&bounds.join(" and ")));
            }
        }
    }
}

fn quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn time(duration: Duration) -> String {
    quote(&show(duration))
}

/// A TOML float: with a point or an exponent.
fn float(number: f64) -> String {
    format!("{number:?}")
}

fn service_time(time: ServiceTime) -> String {
    let median = quote(&show(time.median));
    if time.sigma == 0.0 {
        median
    } else {
        format!("{{ median = {median}, sigma = {} }}", float(time.sigma))
    }
}

fn popularity(popularity: Popularity) -> String {
    match popularity {
        Popularity::Uniform => quote("uniform"),
        Popularity::Zipf(exponent) => format!("{{ zipf = {} }}", float(exponent)),
    }
}

const fn password(password: Password) -> &'static str {
    match password {
        Password::Random => "random",
        Password::Off => "off",
    }
}

const fn persistence(persistence: Persistence) -> &'static str {
    match persistence {
        Persistence::None => "none",
        Persistence::Rdb => "rdb",
        Persistence::AofEverysec => "aof-everysec",
        Persistence::AofAlways => "aof-always",
    }
}

fn renew(renew: Renew) -> String {
    match renew {
        Renew::Off => quote("off"),
        Renew::Fraction(n) => quote(&format!("ttl/{n}")),
        Renew::Every(every) => time(every),
    }
}

fn wait(wait: Wait) -> String {
    match wait {
        Wait::FailFast => quote("fail-fast"),
        Wait::Queue => quote("queue"),
        Wait::Retry { retries, delay, jitter } => {
            format!(
                "{{ retries = {retries}, delay = {}, jitter = {} }}",
                time(delay),
                time(jitter)
            )
        }
    }
}

/// `host:1,2` or `server:3`.
fn targets(targets: &[Target]) -> String {
    let kind = if matches!(targets.first(), Some(Target::Server(_))) {
        "server"
    } else {
        "host"
    };
    let numbers: Vec<String> = targets
        .iter()
        .map(|target| match target {
            Target::Host(id) => id.0.to_string(),
            Target::Server(id) => id.0.to_string(),
        })
        .collect();
    format!("{kind}:{}", numbers.join(","))
}
