//! What a run concludes, as its user sees it: the exit code, the words, and the figures as CSV.

use std::fs;

use lockstorm_kit::alone;
use lockstorm_kit::program::{ended, example, lockstorm};
use tempfile::TempDir;

/// A run as its user sees it.
struct Shown {
    code: Option<i32>,
    out: String,
    csv: String,
}

impl Shown {
    /// A figure of an arm; `None` if it has no value.
    fn figure(&self, arm: &str, name: &str) -> Option<f64> {
        let of = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            (fields[2..4] == [arm, name]).then(|| fields[4].parse().ok()).flatten()
        };
        self.csv.lines().find_map(of)
    }

    /// The line of the verdict on an arm.
    fn verdict(&self, arm: &str) -> &str {
        let lines = self.out.lines().skip_while(|line| !line.starts_with("lock "));
        lines.skip(1).find(|line| line.starts_with(arm)).unwrap_or_default()
    }
}

/// Plays this scenario with these settings.
fn shown(scenario: &str, set: &[&str]) -> Shown {
    let directory = TempDir::new().expect("a directory");
    fs::write(directory.path().join("scenario.toml"), scenario).expect("a file");
    let mut arguments = vec!["run", "scenario.toml", "--quiet", "--record", "record.json"];
    arguments.extend(set.iter().flat_map(|set| ["--set", set]));
    let (code, out, told) = ended(&mut lockstorm(directory.path(), &arguments));
    assert!(directory.path().join("record.json").exists(), "{code:?}\n{out}{told}");
    let csv = ["report", "record.json", "--format", "csv"];
    let (_, csv, _) = ended(&mut lockstorm(directory.path(), &csv));
    Shown { code, out, csv }
}

/// A host bounces and everything holds.
const BOUNCE: &str = r#"
title = "a bounce"
duration = "4s"
drain = "500ms"
seed = 1
swarm = { servers = 2, workers = 8, think = "10ms" }
workload = { kind = "inventory", products = 8, stock = 100000, hold = { median = "20ms", sigma = 0.6 } }
lab = { persistence = "none" }
arm = [{ name = "redlock", lock = "redlock", ttl = "1s", wait = "fail-fast" }]
fault = [{ at = "2s", do = "kill", on = "host:1", for = "500ms" }]
[expect]
"redlock.double_holds" = "== 0"
"#;

#[test]
fn a_run_that_has_tested_nothing_is_not_said_to_hold() {
    let _turn = alone();
    let untested = |set: &[&str]| {
        let run = shown(BOUNCE, set);
        assert_eq!(run.code, Some(5), "{set:?}\n{}", run.out);
        assert!(!run.out.contains("Held"), "{}", run.out);
        assert!(run.verdict("redlock").contains("not shown"), "{}", run.out);
        run
    };
    // No two clients ever want the same lock.
    let alone = untested(&["swarm.servers=1", "swarm.workers=1", "workload.products=100000"]);
    assert_eq!(alone.figure("redlock", "contested"), Some(0.0));
    // The lock is on another host than the fault; and all sections have ended when the host returns.
    for set in [
        &["arm.redlock.lock=single", "fault.1.on=host:3"][..],
        &[][..],
        &["fault.1.do=pause", "fault.1.for=1ms"],
    ] {
        let run = untested(set);
        assert!(
            run.out.contains("No fault tested: redlock") || run.out.contains("no fault tested: redlock"),
            "{}",
            run.out
        );
        assert!(run.figure("redlock", "contested") > Some(0.0));
    }
}

#[test]
fn a_fault_that_loses_keys_or_keeps_others_out_has_tested_the_lock() {
    let _turn = alone();
    // Sections that outlast the death of the host; and a majority without which no lock is granted.
    for set in [
        &["workload.hold=1500ms", "arm.redlock.ttl=5s"][..],
        &["fault.1.on=majority"][..],
    ] {
        // Two clients that ask at once may split the votes, and what has two of three may lose one of these in a bounce, and be opened by it.
        let seeds = ["seed=1", "seed=2", "seed=3", "seed=4"];
        let mut runs = seeds.iter().map(|seed| shown(BOUNCE, &[set, &[*seed]].concat()));
        let run = runs
            .find(|run| !run.out.contains("1 lock forgotten") && !run.out.contains("locks forgotten"))
            .expect("a run in which all had three votes");
        assert_eq!(run.code, Some(0), "{set:?}\n{}", run.out);
        assert!(run.out.contains("Held against kill "), "{}", run.out);
    }
}

#[test]
fn no_fault_is_needed_to_hold() {
    let _turn = alone();
    let text = BOUNCE.replace("fault = [{", "# [{");
    let run = shown(&text, &[]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.out.contains("Held: redlock"), "{}", run.out);
}

/// Each tenth lock of this client is never released and has no TTL.
#[test]
fn a_lock_that_is_stuck_does_not_hold_and_others_do_not_hide_it() {
    let _turn = alone();
    let leaks = example("planted_client");
    let scenario = format!(
        r#"
title = "locks that are never released"
duration = "4s"
drain = "500ms"
seed = 7
lab = {{ hosts = 1 }}
swarm = {{ servers = 2, workers = 4, think = "20ms" }}
workload = {{ kind = "inventory", products = 400, stock = 400, hold = "5ms" }}
arm = [
    {{ name = "leaks", lock = "client", hosts = 1, ttl = "1s", timeout = "300ms", command = ["{leaks}", "leaks"], wait = "fail-fast" }},
    {{ name = "ours", lock = "single", ttl = "3s", timeout = "300ms", wait = "fail-fast" }},
]
"#
    );
    let run = shown(&scenario, &["workload.products=40"]);
    assert!(run.verdict("leaks").contains("stuck"), "{}", run.out);
    assert!(run.verdict("ours").contains("safe"), "{}", run.out);
    // Other locks were granted all the time.
    assert!(run.figure("leaks", "unavailable_ms") > Some(1000.0), "{}", run.csv);
    assert!(run.figure("leaks", "unavailable_locks") > Some(3.0), "{}", run.csv);
    assert!(run.figure("leaks", "refused_while_free") > Some(3.0), "{}", run.csv);
    assert!(run.figure("leaks", "all_unavailable_ms") < run.figure("leaks", "unavailable_ms"));
    assert!(run.figure("ours", "unavailable_ms") < Some(1000.0), "{}", run.csv);
    // The client keeps the names of its locks, so its orphaned keys can be told.
    assert!(run.figure("leaks", "zombie_keys") > Some(0.0), "{}", run.csv);
    assert_eq!(run.figure("ours", "zombie_keys"), Some(0.0), "{}", run.csv);
}

#[test]
fn an_outage_belongs_to_the_fault_on_the_host_of_the_lock() {
    let _turn = alone();
    let scenario = r#"
title = "first the host of one lock dies, then another one"
duration = "6s"
drain = "500ms"
seed = 7
swarm = { servers = 2, workers = 8, think = "10ms" }
workload = { kind = "inventory", products = 8, stock = 100000, hold = "5ms" }
arm = [
    { name = "single", lock = "single", ttl = "1s", wait = "fail-fast" },
    { name = "redlock", lock = "redlock", ttl = "1s", wait = "fail-fast" },
]
fault = [
    { at = "1s", do = "kill", on = "host:1" },
    { at = "3s", do = "kill", on = "host:2" },
]
"#;
    let run = shown(scenario, &[]);
    let line = |what: &str| run.out.lines().find(|line| line.contains(what)).unwrap_or_default();
    let (first, second) = (line("host 1 died"), line("host 2 died"));
    assert!(
        first.contains("unavailable: single") && !first.contains("redlock"),
        "{}",
        run.out
    );
    assert!(
        second.contains("unavailable: redlock") && !second.contains("single"),
        "{}",
        run.out
    );
}

#[test]
fn payments_that_wait_in_a_circle_are_at_a_standstill() {
    let _turn = alone();
    let run = shown(
        r#"
title = "two who pay each other"
duration = "4s"
drain = "500ms"
seed = 7
swarm = { servers = 2, workers = 32, think = "5ms" }
workload = { kind = "payment", accounts = 4, money = 100000, hold = "5ms" }
[[arm]]
name = "as paid"
lock = "single"
locks = "as-paid"
ttl = "20s"
wait = { retries = 1000, delay = "50ms", jitter = "50ms" }
timeout = "1s"
"#,
        &[],
    );
    assert!(run.verdict("as paid").contains("standstill"), "{}", run.out);
    assert!(run.figure("as paid", "unanswered") > Some(50.0), "{}", run.csv);
}
