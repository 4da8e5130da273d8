//! What a machine does to a run that is too slow, or stops it, and what is still shown then.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::live::Live;
use lockstorm_data::metrics::Count;
use lockstorm_kit::place::Place;
use lockstorm_kit::play::{arm, texts};
use lockstorm_kit::program::says;
use lockstorm_kit::{ended, lockstorm};
use lockstorm_run::Record;
use nix::sys::signal::Signal;

/// The value of a figure in `report --format csv`.
fn reported(place: &Place, arm: &str, figure: &str) -> String {
    let (code, csv, stderr) = ended(&mut lockstorm(place.path(), &["report", "out.json", "--format", "csv"]));
    assert_eq!(code, Some(0), "{stderr}");
    let is_its = |line: &&str| line.contains(&format!(",{arm},{figure},"));
    let line = csv
        .lines()
        .find(is_its)
        .unwrap_or_else(|| panic!("no {figure} of {arm}: {csv}"));
    line.rsplit(',').nth(1).unwrap_or_default().to_owned()
}

/// Stops the program for so long.
fn stop(run: &Live<'_>, time: Duration) {
    run.send(Signal::SIGSTOP);
    sleep(time);
    run.send(Signal::SIGCONT);
}

/// Plays it to its end: exit code, record, standard output.
fn played(place: &Place, arguments: &[&str]) -> (Option<i32>, Record, String) {
    let mut command = place.command(&[&["--record", "out.json"], arguments].concat());
    let ended = Live::start(place, &mut command).end();
    let record = ended.record.unwrap_or_else(|| panic!("no record: {}", ended.stderr));
    (ended.code, record, ended.stdout)
}

/// Three sections in ten outlast the TTL.
const RACE: &str = r#"
title = "Sections outlast their TTL"
duration = "4s"
seed = 7
lab = { hosts = 1 }
swarm = { servers = 2, workers = 16, think = "10ms" }
workload = { kind = "inventory", products = 8, stock = 100000, hold = { median = "20ms", sigma = 0.6 } }
[[arm]]
name = "single"
lock = "single"
ttl = "30ms"
node_timeout = "20ms"
wait = { retries = 500, delay = "10ms", jitter = "10ms" }
[expect]
"single.double_uses" = ">= 10"
"single.law_violations" = "== 0"
"#;

#[test]
fn stalled_sections_explain_no_double_use_of_others() {
    let place = Place::alone("race.toml", RACE);
    let mut run = Live::start(&place, &mut place.command(&["--record", "out.json"]));
    run.until_it_sells();
    for _ in 0..4 {
        stop(&run, Duration::from_millis(100));
        sleep(Duration::from_millis(200));
    }
    let (ended, record) = run.record(0);
    let figures = &arm(&record, "single").figures;
    assert!(figures.counts[Count::Stalled] > 0, "{}", ended.said());
    assert!(figures.double_uses - figures.double_uses_by_stalls >= 10, "{figures:?}");
    assert_eq!(
        reported(&place, "single", "double_uses"),
        figures.double_uses.to_string()
    );
}

/// Ten times as many requests are due as the workers can begin.
const RATE: &str = r#"
title = "Too few workers"
duration = "1s"
drain = "500ms"
lab = { hosts = 1 }
swarm = { servers = 1, workers = 4, rate = "2000/s" }
workload = { kind = "inventory", products = 100, stock = 1000, hold = "20ms" }
[[arm]]
name = "single"
lock = "single"
ttl = "5s"
"#;

#[test]
fn a_rate_that_was_not_kept_is_said_first_and_proves_nothing_unless_it_is_expected() {
    let place = Place::new("rate.toml", RATE);
    for (expected, code) in [(&[][..], 5), (&["--set", "expect.single.never_begun=>= 100"], 0)] {
        let (ended, record, stdout) = played(&place, expected);
        assert_eq!(ended, Some(code), "{stdout}");
        let figures = &arm(&record, "single").figures;
        assert!(figures.never_begun > 1_000, "{figures:?}");
        let (first, rest) = stdout.split_once("\n\n").expect("parts");
        assert!(first.lines().count() <= 2, "{stdout}");
        assert!(
            rest.starts_with("not all requests were served\n  ! single: "),
            "{stdout}"
        );
        let share = format!("of 2,000 requests ({:.0} %)", figures.never_begun as f64 / 20.0);
        let covered = format!("cover only the {} that ended", figures.counts[Count::Completed]);
        says(&stdout, &[&share, &covered, "Lower the rate, or add workers"]);
        assert_eq!(stdout.matches("were due and never begun").count(), 1, "{stdout}");
        assert_eq!(
            reported(&place, "single", "never_begun"),
            figures.never_begun.to_string()
        );
    }
}

/// Each of 60 jobs is due once a second on two app servers.
const JOBS: &str = r#"
title = "Jobs"
duration = "3s"
drain = "2s"
lab = { hosts = 1 }
swarm = { servers = 2, workers = 48, rate = "60/s" }
workload = { kind = "job", jobs = 60, hold = "10ms" }
arm = [
    { name = "no lock", lock = "none" },
    { name = "looks first", lock = "single", ttl = "5s", wait = { retries = 200, delay = "10ms", jitter = "10ms" } },
]
[expect]
"no lock.missed" = "== 0"
"looks first.missed" = "== 0"
"#;

#[test]
fn a_tick_that_no_worker_could_begin_before_the_end_was_not_missed() {
    let place = Place::new("jobs.toml", JOBS);
    let mut run = Live::start(&place, &mut place.command(&["--record", "out.json"]));
    run.until_it_sells();
    let began = Instant::now();
    // Over the end of the load. A slow machine may come too late for that, and then there is nothing to miss.
    sleep(Duration::from_millis(2_900).saturating_sub(began.elapsed()));
    stop(&run, Duration::from_millis(200));
    let (_, record) = run.record(0);
    for name in ["no lock", "looks first"] {
        assert_eq!(
            reported(&place, name, "missed"),
            "0",
            "{:?}",
            arm(&record, name).figures
        );
    }
}

/// The node of the lock is away for most of the time.
const OPEN: &str = r#"
title = "Work without a lock"
duration = "3s"
lab = { hosts = 1 }
swarm = { servers = 2, workers = 8, think = "10ms" }
workload = { kind = "inventory", products = 2, stock = 100000, hold = "50ms" }
arm = [
    { name = "proceeds", lock = "single", ttl = "2s", node_timeout = "200ms", wait = "fail-fast", on_outage = "proceed" },
    { name = "gives up", lock = "single", ttl = "2s", node_timeout = "200ms", wait = "fail-fast" },
]
fault = [{ at = "500ms", do = "kill", on = "host:1" }]
[expect]
"proceeds.double_uses" = ">= 10"
"proceeds.double_holds" = "== 0"
"gives up.double_uses" = "== 0"
"#;

#[test]
fn work_without_a_lock_counts_as_inside_and_no_figure_of_another_workload_is_known() {
    let place = Place::new("open.toml", OPEN);
    let (code, record, stdout) = played(&place, &["--history", "h.jsonl"]);
    assert_eq!(code, Some(0), "{stdout}");
    let uses = arm(&record, "proceeds").figures.double_uses;
    assert_eq!(reported(&place, "proceeds", "double_uses"), uses.to_string());
    // The history says the same.
    let (_, table, _) = ended(&mut lockstorm(place.path(), &["record", "judge", "h.jsonl"]));
    let row = table.lines().find(|line| line.starts_with("proceeds")).expect(&table);
    assert!(
        row.split_whitespace().any(|cell| cell == uses.to_string()),
        "{uses}: {row}"
    );
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(place.at("out.json")).unwrap()).unwrap();
    let arm = &json["arms"][0];
    let figures = &arm["figures"];
    assert!(figures["orders"].as_u64() > Some(10), "{figures}");
    assert!(figures["granted_by_old_master"].is_null(), "{figures}");
    for other in [
        "runs",
        "missed",
        "run_again",
        "payments",
        "no_money",
        "money_made",
        "hits",
    ] {
        assert!(figures.get(other).is_none(), "{other}: {figures}");
    }
    for other in ["runs", "missed", "run_again", "payments", "money_made", "unguarded"] {
        assert!(arm.get(other).is_none(), "{other}: {arm}");
    }
}

/// A lock that nobody loses.
const CALM: &str = r#"
title = "Calm"
duration = "5s"
lab = { hosts = 1 }
swarm = { servers = 2, workers = 4, rate = "100/s" }
workload = { kind = "inventory", products = 100, stock = 100000, hold = "1ms" }
[[arm]]
name = "single"
lock = "single"
ttl = "1s"
wait = { retries = 200, delay = "10ms", jitter = "10ms" }
[expect]
"single.lost_updates" = "== 0"
"#;

/// How much of the time the machine let the app servers wait, if the run says that it is too busy.
fn busy(text: &str) -> u64 {
    let share = text.split("it let the app servers wait for ").nth(1);
    let share = share.and_then(|share| share.split(' ').next()?.parse().ok());
    share.unwrap_or_default()
}

#[test]
fn a_program_that_was_stopped_does_not_blame_the_machine() {
    let place = Place::alone("calm.toml", CALM);
    for (millis, code, time) in [(500, 0, "0."), (1_800, 5, "1.")] {
        let mut run = Live::start(&place, &mut place.command(&["--record", "out.json"]));
        run.until_it_sells();
        stop(&run, Duration::from_millis(millis));
        let (ended, record) = run.record(code);
        let said = format!("this program was stopped for {time}");
        says(&ended.stdout, &[&said]);
        let is_void = texts(&record.inconclusive).iter().any(|why| why.starts_with(&said));
        assert_eq!(is_void, code == 5, "{:?}", texts(&record.inconclusive));
        // It was stopped for more than a third of the time. What the machine itself does is less.
        assert!(busy(&ended.said()) < 25, "{}", ended.said());
        assert!(
            !ended.stdout.contains("this machine is too busy for the load"),
            "{}",
            ended.stdout
        );
    }
}

#[test]
fn bounds_that_hold_so_far_are_not_told_as_not_predicted_when_a_run_is_stopped() {
    let place = Place::new("calm.toml", CALM);
    let mut run = Live::start(
        &place,
        &mut place.command(&["--record", "out.json", "--duration", "60s"]),
    );
    run.until_it_sells();
    // Until then there are orders, so that the bound could be broken.
    sleep(Duration::from_secs(1));
    run.send(Signal::SIGINT);
    let (ended, _) = run.record(130);
    assert!(!ended.stdout.contains("not as predicted"), "{}", ended.stdout);
}
