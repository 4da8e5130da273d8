//! Writes a scenario as TOML with all defaults: what a record keeps as `scenario_toml`.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::applicable::applicable;
use super::forms::{write_renew, write_service_time, write_wait};
use super::spec::{ArmSpec, FaultSpec, FaultStart, GivenNodes};
use super::value::show;
use super::whole::Scenario;
use super::words::Words;
use super::workload::{self, WorkloadName};
use super::writer::{Writer, float, quote, time, word};
use crate::model::{Action, Parameters, Skew, Target, TargetKind, Targets, Wait};

impl Scenario {
    /// The scenario as it runs. [`super::parse`] reads it back to an equal one, except for a password of its database or its nodes, and
    /// for what it is about.
    pub fn to_toml(&self) -> String {
        let mut out = Writer::new();
        out.pair("title", quote(&self.title));
        out.optional("caption", self.caption.as_deref().map(quote));
        out.optional("lesson", self.lesson.as_deref().map(quote));
        out.optional("look_at", self.look_at.as_deref().map(quote));
        out.optional("try", self.to_try.as_deref().map(quote));
        out.pair("duration", time(self.duration));
        out.pair("warmup", time(self.warmup));
        out.optional("drain", self.drain.map(time));
        out.pair("seed", self.seed);
        out.header("[lab]");
        out.pair("hosts", self.lab.hosts);
        match &self.lab.nodes {
            None => {
                out.word("persistence", self.lab.persistence);
                out.optional("port", self.lab.port);
                out.word("password", self.lab.password);
            }
            Some(GivenNodes {
                urls_env: Some(name), ..
            }) => out.pair("nodes_env", quote(name)),
            Some(GivenNodes { urls, .. }) => {
                let urls: Vec<String> = urls.iter().map(|url| quote(&url.to_string())).collect();
                out.pair("nodes", format_args!("[{}]", urls.join(", ")));
            }
        }
        if let Some(replicated) = &self.lab.replicated {
            out.header("[lab.replicated]");
            out.pair("down_after", time(replicated.down_after));
            out.pair("failover_timeout", time(replicated.failover_timeout));
            out.pair("min_replicas_to_write", replicated.min_replicas_to_write);
            out.pair("min_replicas_max_lag", time(replicated.min_replicas_max_lag));
            out.optional("preferred_host", replicated.preferred_host.map(|host| host.0));
            out.optional("sentinel_period", replicated.sentinel_period.map(time));
        }
        if let Some(cluster) = &self.lab.cluster {
            out.header("[lab.cluster]");
            out.pair("node_timeout", time(cluster.node_timeout));
            out.pair("require_full_coverage", cluster.require_full_coverage);
        }
        out.header("[swarm]");
        out.pair("servers", self.swarm.servers);
        out.pair("workers", self.swarm.workers);
        out.optional("rate", self.swarm.rate.map(float));
        if self.swarm.rate.is_some() {
            out.word("balance", self.swarm.balance);
            out.word("arrivals", self.swarm.arrivals);
        }
        out.optional("requests", self.swarm.requests);
        out.pair("ramp", time(self.swarm.ramp));
        out.pair("think", time(self.swarm.think));
        out.optional("turns", self.swarm.turns.map(time));
        workload::write(&self.workload, &mut out);
        out.header("[database]");
        match &self.database.url_env {
            Some(name) => out.pair("url_env", quote(name)),
            None => out.pair("url", quote(&self.database.url.to_string())),
        }
        out.pair("read", write_service_time(self.database.read));
        out.pair("pool", self.database.pool);
        for arm in &self.arms {
            out.arm(arm, self.workload.name());
        }
        for fault in &self.faults {
            out.fault(fault);
        }
        out.expect(self);
        out.into_text()
    }
}

impl Writer {
    /// Only the keys that the reader accepts for this lock and workload.
    pub(super) fn arm(&mut self, arm: &ArmSpec, workload: WorkloadName) {
        self.header("[[arm]]");
        self.pair("name", quote(&arm.name));
        self.word("lock", arm.lock);
        // Waiting in line is the default of a lock without lock nodes.
        let tells_wait = arm.lock.uses_nodes() || arm.wait == Wait::FailFast;
        let command: Vec<String> = arm.command.iter().map(|word| quote(word)).collect();
        for (key, value) in [
            ("command", Some(format!("[{}]", command.join(", ")))),
            ("topology", Some(word(arm.topology))),
            ("follow", Some(word(arm.follow))),
            ("wait_replicas", Some(arm.wait_replicas.to_string())),
            ("wait_timeout", Some(time(arm.wait_timeout))),
            ("host", Some(arm.host.0.to_string())),
            ("hosts", arm.hosts.map(|hosts| hosts.to_string())),
            ("ttl", Some(time(arm.ttl))),
            ("renew", Some(write_renew(arm.renew))),
            ("node_timeout", Some(time(arm.node_timeout))),
            ("on_loss", Some(word(arm.on_loss))),
            ("lifetime", arm.lifetime.map(time)),
            ("on_outage", Some(word(arm.on_outage))),
            ("wait", tells_wait.then(|| write_wait(arm.wait))),
            ("timeout", Some(time(arm.timeout))),
            ("update", Some(word(arm.update))),
            ("fence", Some(word(arm.fence))),
            ("release", Some(word(arm.release))),
            ("locks", Some(word(arm.locks))),
            ("serve_stale", Some(arm.serve_stale.to_string())),
            ("second_look", Some(arm.second_look.to_string())),
        ] {
            if applicable(key, arm.lock, arm.topology, workload).is_ok() {
                self.optional(key, value);
            }
        }
    }

    fn fault(&mut self, fault: &FaultSpec) {
        self.header("[[fault]]");
        match &fault.start {
            FaultStart::At(at) => self.pair("at", time(*at)),
            FaultStart::When(condition) => self.pair("when", quote(&condition.text)),
            FaultStart::After(number, delay) => {
                self.pair("after", quote(&format!("fault:{number} + {}", show(*delay))));
            }
        }
        self.pair("do", quote(fault.action.word()));
        if let Action::Fault(kind) = fault.action {
            let _ = kind.map_parameters(self);
        }
        self.pair("on", quote(&targets(&fault.targets)));
        self.optional("for", fault.lasts.map(time));
        self.optional("title", fault.title.as_deref().map(quote));
        self.optional("caption", fault.caption.as_deref().map(quote));
        self.optional("teaches", fault.teaches.as_deref().map(quote));
    }

    /// Comparisons of one figure share its key, because a key can be written only once.
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

/// Writes the parameters of a fault.
impl Parameters for Writer {
    fn duration(&mut self, key: &'static str, now: Duration, _: RangeInclusive<Duration>) -> Duration {
        self.pair(key, time(now));
        now
    }

    fn number(&mut self, key: &'static str, now: u64, _: RangeInclusive<u64>, left_out: Option<u64>) -> u64 {
        self.optional(key, (left_out != Some(now)).then(|| now.to_string()));
        now
    }

    fn shift(&mut self, key: &'static str, now: i64) -> i64 {
        let sign = if now < 0 { "-" } else { "" };
        let by = show(Duration::from_millis(now.unsigned_abs()));
        self.optional(key, (now != 0).then(|| quote(&format!("{sign}{by}"))));
        now
    }

    fn rate(&mut self, key: &'static str, now: u32) -> u32 {
        let rate = f64::from(now) / f64::from(Skew::TRUE_RATE);
        self.optional(key, (now != Skew::TRUE_RATE).then(|| float(rate)));
        now
    }

    fn word<T: Words>(&mut self, key: &'static str, now: T) -> T {
        self.word(key, now);
        now
    }
}

/// `host:1,2`, `server:3`, `link:1-2`, `replication` or `primary`.
fn targets(targets: &Targets) -> String {
    let targets = match targets {
        Targets::Named(targets) => targets,
        Targets::By(seat) => return seat.word().to_owned(),
    };
    if let [Target::Link(link), ..] = targets.as_slice()
        && let Some(word) = link.word()
    {
        return word.to_owned();
    }
    let kind = targets.first().map_or(TargetKind::Host, |target| target.kind());
    let keys: Vec<String> = targets.iter().map(|target| target.key()).collect();
    format!("{}:{}", kind.word(), keys.join(","))
}
