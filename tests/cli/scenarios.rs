//! The built-in scenarios, a complete sample, and the way back to TOML.

use std::time::Duration;

use lockstorm_data::metrics::Metric;
use lockstorm_data::model::{Action, Condition, HostId, ServerId, Target, Targets, Wait};
use lockstorm_data::scenario::{
    CacheFillSpec, FaultStart, Fence, LockKind, Overrides, Password, Popularity, Renew, Scenario, ServiceTime, Source,
    WorkloadSpec, builtin, parse, warnings,
};
use lockstorm_kit::scenario::builtin as opened;

fn read(name: &str, text: &str) -> Scenario {
    let source = Source {
        name: name.into(),
        text: text.into(),
    };
    parse(&source, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn built_ins_are_valid_short_and_say_what_they_show() {
    for builtin in builtin::ALL {
        let scenario = opened(builtin.name, &[]);
        assert_eq!(scenario.name, builtin.name);
        assert_eq!(scenario.title, builtin.title());
        let name = builtin.name;
        assert!(
            scenario.duration + scenario.warmup <= Duration::from_mins(1),
            "{name} is too long"
        );
        assert!(builtin.text.starts_with("# "), "{name} does not say what it shows");
        assert!(scenario.to_try.is_some(), "{name} names no keys");
        assert!(!scenario.expect.is_empty(), "{name} expects nothing");
        let workers = scenario.swarm.servers * scenario.swarm.workers * scenario.arms.len();
        assert!(workers <= 600, "{name}");
        // These are about locks that don't last.
        let short = ["slow-job", "ttl-race", "fencing"].contains(&name);
        let mut said = warnings(&scenario);
        said.retain(|line| !(short && line.contains("locks will be lost")));
        assert_eq!(said, [""; 0], "{name}");
    }
    let files = std::fs::read_dir("scenarios").expect("scenarios/").count();
    assert_eq!(files, builtin::ALL.len(), "every file of scenarios/ is embedded");
}

#[test]
fn faults_that_reach_no_host_of_a_lock_are_warned_of() {
    let warned = |lock: &str, on: &str| {
        let text = format!(
            "title = \"t\"\n[workload]\nkind = \"inventory\"\nproducts = 8\nstock = 9\nhold = \"5ms\"\n[[arm]]\nname = \"a\"\nlock = \"{lock}\"\n\
             [[fault]]\nat = \"1s\"\ndo = \"kill\"\non = \"{on}\"\n"
        );
        let lines = warnings(&read("t", &text));
        lines
            .iter()
            .any(|line| line.contains("no fault is on a host of arm \"a\", whose lock is on host 1"))
    };
    assert!(warned("single", "host:3") && warned("single", "host:2,3"));
    assert!(!warned("single", "host:1") && !warned("single", "minority") && !warned("single", "server:1"));
    assert!(!warned("redlock", "host:3") && !warned("none", "host:3"));
}

/// A story that stops being told is worse than none.
#[test]
fn built_ins_have_acts_with_captions_and_something_to_try() {
    for builtin in builtin::ALL {
        let (name, scenario) = (builtin.name, opened(builtin.name, &[]));
        assert!(scenario.caption.is_some(), "{name} begins without a caption");
        assert!(
            scenario.drain.is_some_and(|drain| drain <= Duration::from_secs(1)),
            "{name}"
        );
        for (number, fault) in (1..).zip(&scenario.faults) {
            let told = [&fault.title, &fault.caption, &fault.teaches];
            assert!(
                told.iter().all(|text| text.is_some()),
                "fault {number} of {name} tells nothing"
            );
        }
        assert!(!scenario.about.is_empty(), "{name}");
        // Behind the comment at the head, which is told before the run.
        assert!(builtin.text.contains("\n\n# Sizes: "), "{name}");
    }
    let lasts = |name: &str| opened(name, &[]).duration.as_secs();
    assert!(lasts("failover") <= 45 && lasts("cluster-counts-as-one") <= 50);
}

/// One section in a thousand that outlasts its lock loses an update now and then, whatever the scenario shows.
#[test]
fn what_must_not_be_lost_is_not_left_to_the_longest_sections() {
    for builtin in builtin::ALL {
        let scenario = read(builtin.name, builtin.text);
        let WorkloadSpec::Inventory(workload) = &scenario.workload else {
            continue;
        };
        let hold = workload.hold;
        for expectation in &scenario.expect {
            let none_lost = expectation.metric == Metric::LostUpdates && expectation.text == "== 0";
            let arm = scenario.arms.iter().find(|arm| arm.name == expectation.arm);
            let arm = arm.expect("an arm of the scenario");
            let is_left = arm.renew == Renew::Off && arm.lock.uses_nodes() && arm.fence == Fence::Off;
            if !none_lost || !is_left || hold.sigma == 0.0 {
                continue;
            }
            // Standard deviations of the logarithm: 4.5 are three sections in a million.
            let margin = (arm.ttl.as_secs_f64() / hold.median.as_secs_f64()).ln() / hold.sigma;
            assert!(margin > 4.5, "{}: {}: {margin}", builtin.name, arm.name);
        }
    }
}

#[test]
fn the_arms_of_the_article() {
    let names = |name: &str| -> Vec<String> { opened(name, &[]).arms.into_iter().map(|arm| arm.name).collect() };
    assert_eq!(names("flash-sale"), ["none", "local", "single", "redlock", "atomic"]);
    assert_eq!(
        names("stampede"),
        ["none", "local", "single fail-fast", "single waiting", "redlock"]
    );
}

#[test]
fn every_built_in_says_what_to_use() {
    for builtin in builtin::ALL {
        assert!(read(builtin.name, builtin.text).lesson.is_some(), "{}", builtin.name);
    }
}

#[test]
fn every_built_in_survives_the_way_to_toml_and_back() {
    for builtin in builtin::ALL {
        let scenario = read(builtin.name, builtin.text);
        let text = scenario.to_toml();
        assert_eq!(
            Scenario {
                about: scenario.about.clone(),
                ..read(builtin.name, &text)
            },
            scenario,
            "{text}"
        );
    }
}

const SAMPLE: &str = r#"
title    = "Single node, Sentinel and Redlock under failover"
duration = "60s"
seed     = 42                 # every random choice comes from it

[lab]
hosts = 3
persistence = "none"          # none | rdb | aof-everysec | aof-always

[swarm]
servers = 4                   # app servers
workers = 16                  # workers on each, for each arm
rate    = "400/s"             # open loop, for each arm; left out: closed loop

[workload]
kind     = "inventory"
products = 200
stock    = 50
hold     = { median = "5ms", sigma = 0.6 }

[database]
url   = "sqlite"
read  = { median = "2ms", sigma = 0.3 }
pool  = 5

[[arm]]
name = "no lock"
lock = "none"

[[arm]]
name = "redlock"
lock = "redlock"
ttl  = "2s"
renew = "ttl/3"
wait = { retries = 20, delay = "20ms", jitter = "20ms" }

[[fault]]
at  = "20s"
do  = "kill"
on  = "host:1"
for = "8s"

[expect]
"redlock.oversold"      = "== 0"
"no lock.oversold"      = "> 0"
"redlock.acquire_p99"   = "< 50ms"
"#;

#[test]
fn a_complete_sample() {
    let scenario = read("sample.toml", SAMPLE);
    assert_eq!(scenario.name, "sample");
    assert_eq!(scenario.swarm.rate, Some(400.0));
    assert_eq!(
        scenario.database.read,
        ServiceTime {
            median: Duration::from_millis(2),
            sigma: 0.3
        }
    );
    let redlock = &scenario.arms[1];
    assert_eq!((redlock.lock, redlock.renew), (LockKind::Redlock, Renew::Fraction(3)));
    assert_eq!(redlock.node_timeout, Duration::from_millis(50));
    assert_eq!(scenario.faults[0].start, FaultStart::At(Duration::from_secs(20)));
    assert_eq!(
        scenario.faults[0].targets,
        Targets::Named(vec![Target::Host(HostId(1))])
    );
    assert_eq!(scenario.faults[0].lasts, Some(Duration::from_secs(8)));
    assert!(
        (scenario.expect[2].bound - 50_000.0).abs() < 1e-6,
        "microseconds: {}",
        scenario.expect[2].bound
    );
}

#[test]
fn everything_that_a_scenario_can_say() {
    let text = r#"
title = "quotes \" and \\ and ü"
duration = "1m"
warmup = "1500ms"
drain = "0s"
seed = 0xFF
lab = { hosts = 5, persistence = "aof-everysec", port = 7000, password = "off" }
swarm = { servers = 3, workers = 2, requests = 1000, ramp = "2s", think = "1ms 500us" }
workload = { kind = "cache-fill", cache = [
    { name = "a", keys = 10, popularity = { zipf = 1.25 }, state_ttl = "1s", data_ttl = "2s", pages = 3, weight = 0.5 },
    { name = "b", keys = 1, popularity = "zipf", state_ttl = "100ms", data_ttl = "1m" },
] }
database = { url = "postgres://me@localhost/shop", read = { median = "0s" } }
[[arm]]
name = "mutex"
lock = "local"
wait = "fail-fast"
serve_stale = false
[[arm]]
name = "one node"
lock = "single"
host = 4
renew = "100ms"
wait = "queue"
second_look = false
on_loss = "abort"
[[fault]]
when = "one node.holding >= 3 and mutex.acquire_p99 < 5ms"
do = "pause"
on = "server:1,3"
for = "2s"
title = "servers sleep"
teaches = "r: wake them up"
[[fault]]
after = "fault:1 + 300ms"
do = "shutdown"
on = "minority"
[[fault]]
after = "fault:2"
do = "restart"
on = "majority"
[expect]
"one node.throughput" = ">= 10/s and < 1e6"
"mutex.hits" = "!= 0"
"#;
    let scenario = read("all.toml", text);
    assert_eq!(
        read("all.toml", &scenario.to_toml()),
        scenario,
        "{}",
        scenario.to_toml()
    );
    assert_eq!(scenario.lab.password, Password::Off);
    assert_eq!(read("sample.toml", SAMPLE).lab.password, Password::Random);
    assert!(
        read("sample.toml", SAMPLE)
            .to_toml()
            .contains("password = \"random\"\n")
    );
    let WorkloadSpec::CacheFill(CacheFillSpec { caches }) = &scenario.workload else {
        panic!("{:?}", scenario.workload)
    };
    assert_eq!(
        (caches[0].popularity, caches[1].popularity),
        (Popularity::Zipf(1.25), Popularity::Zipf(1.0))
    );
    assert_eq!(
        (scenario.arms[0].wait, scenario.arms[1].wait),
        (Wait::FailFast, Wait::Queue)
    );
    assert_eq!(
        scenario.faults[0].targets,
        Targets::Named(vec![Target::Server(ServerId(1)), Target::Server(ServerId(3))])
    );
    assert_eq!(
        scenario.faults[1].targets,
        Targets::Named(vec![Target::Host(HostId(1)), Target::Host(HostId(2))])
    );
    assert_eq!(scenario.faults[2].targets.count(), Some(3));
    assert_eq!(scenario.faults[2].action, Action::Undo(Condition::Down));
    assert_eq!(scenario.expect.len(), 3, "one for each comparison");
}

/// A scenario with any numbers in their ranges comes back equal.
mod round_trip {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers(
            ttl in 10u64..100_000, hold in 1u64..10_000_000, sigma in 0.0f64..5.0, rate in 0.001f64..1e6, seed: u64,
            fence in prop::sample::select(vec!["off", "write", "read-write"]),
        ) {
            let text = format!(
                "seed = {seed}\n[swarm]\nrate = {rate:?}\n[workload]\nkind = \"inventory\"\nproducts = 3\nstock = 1\n\
                 hold = {{ median = \"{hold}us\", sigma = {sigma:?} }}\n\
                 [[arm]]\nname = \"x\"\nlock = \"single\"\nttl = \"{ttl}ms\"\nfence = \"{fence}\"\n",
            );
            let scenario = read("p.toml", &text);
            prop_assert_eq!(read("p.toml", &scenario.to_toml()), scenario);
        }

        /// Reading any file ends with a scenario or with clear error lines, never in a panic.
        #[test]
        fn any_text(text in "[\\[\\]a-z=\".{}, \n0-9-]{0,200}") {
            let source = Source { name: "p.toml".into(), text };
            if let Err(errors) = parse(&source, &Overrides::default()) {
                prop_assert!(!errors.0.is_empty());
            }
        }
    }
}
