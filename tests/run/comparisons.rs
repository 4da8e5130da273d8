//! Arms that take turns, and what `lockstorm compare` says of runs of which the truth is known.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use lockstorm_kit::place::Place;
use lockstorm_kit::recorded::recorded_in;
use lockstorm_kit::{ended, lockstorm};
use serde_json::Value;

/// Three locks that take turns: two equal ones, and one whose node answers as much later as `slower` says.
fn turns(seconds: u64, slower: &str) -> String {
    format!(
        r#"
title = "Two equal locks, and one that is slower"
duration = "{seconds}s"
seed = 1
lab = {{ hosts = 2 }}
swarm = {{ servers = 2, workers = 4, think = "5ms", turns = "1s" }}
workload = {{ kind = "inventory", products = 1000, stock = 10000000, hold = "1ms" }}
arm = [
    {{ name = "old", lock = "single", host = 1, ttl = "5s" }},
    {{ name = "same", lock = "single", host = 1, ttl = "5s" }},
    {{ name = "slower", lock = "single", host = 2, ttl = "5s" }},
]
fault = [
    {{ at = "0s", do = "lag", on = "host:1", delay = "2ms" }},
    {{ at = "0s", do = "lag", on = "host:2", delay = "{slower}" }},
]
"#
    )
}

/// What `lockstorm ARGUMENTS` prints in a place.
fn printed(place: &Place, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = ended(&mut lockstorm(place.path(), arguments));
    assert!(
        code.is_some_and(|code| code != 1 && code != 2),
        "{arguments:?}: {stderr}"
    );
    stdout
}

/// What a comparison says of its figures: the figure, and the verdict on it.
fn verdicts(place: &Place, arguments: &[&str]) -> Vec<(String, String)> {
    let json = printed(place, &[&["compare", "--json"], arguments].concat());
    let comparison: Value = serde_json::from_str(&json).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let primary = comparison["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["is_primary"] == true);
    let of = |row: &Value| {
        (
            format!("{} {}", text(&row["arm"]), text(&row["figure"])),
            match (text(&row["result"]).as_str(), row["differs"] == true) {
                ("failed", _) => "worse".to_owned(),
                ("held", true) => "better".to_owned(),
                (other, _) => other.to_owned(),
            },
        )
    };
    primary.map(of).collect()
}

#[test]
fn the_load_of_an_arm_goes_on_in_its_turns_only() {
    let place = Place::new("turns.toml", &turns(6, "2ms"));
    printed(&place, &["run", "turns.toml", "--record", "turns.json", "--quiet"]);
    let record = recorded_in(place.at("turns.json"));
    // Each of the workers may begin a request when its turn ends, which then counts to the second after it.
    let workers = 8;
    // A B C C B A
    for (arm, own) in record.arms.iter().zip([[0, 5], [1, 4], [2, 3]]) {
        for point in arm.series.iter().filter(|point| (0..6).contains(&point.time)) {
            let (begun, is_its) = (point.offered, own.contains(&point.time));
            assert_eq!(
                begun > workers,
                is_its,
                "{} in second {}: {begun}",
                arm.name,
                point.time
            );
        }
    }
}

#[test]
#[ignore = "slow: .ci/long compare"]
fn five_percent_are_found_and_equals_are_not_told_apart() {
    let place = Place::new("turns.toml", &turns(96, "2.1ms"));
    let (mut alarms, mut found) = (0, 0);
    for seed in 1..=10 {
        printed(
            &place,
            &[
                "run",
                "turns.toml",
                "--seed",
                &seed.to_string(),
                "--record",
                "turns.json",
                "--quiet",
            ],
        );
        let is = |verdict: &'static str| move |(_, is): &(String, String)| is == verdict;
        let equals = verdicts(&place, &["turns.json", "--arms", "old,same"]);
        alarms += usize::from(equals.iter().any(|one| is("worse")(one) || is("better")(one)));
        let slower = verdicts(&place, &["turns.json", "--arms", "old,slower"]);
        let p50 = slower
            .iter()
            .find(|(figure, _)| figure.ends_with("acquired_p50_of_part"));
        found += usize::from(p50.is_some_and(is("worse")));
        println!("seed {seed}: equals {equals:?}, slower {slower:?}");
    }
    assert!(alarms <= 1 && found >= 9, "{alarms} false alarms, {found} found of 10");
}

#[test]
#[ignore = "slow: .ci/long compare"]
fn eight_runs_tell_that_a_ttl_is_too_short_for_redlock_and_does_not_matter_to_the_others() {
    let place = Place::new("turns.toml", &turns(1, "2ms"));
    let printed = printed(
        &place,
        &[
            "run",
            "failover",
            "--repeat",
            "8",
            "--over",
            "ttl=4s,8s",
            "-o",
            "page.html",
            "--quiet",
        ],
    );
    println!("{printed}");
    let verdicts = verdicts(&place, &["failover.runs/ttl=4s*", "--", "failover.runs/ttl=8s*"]);
    // Holds of 3 s and more outlast a TTL of 4 s now and then, and a fault opens every lock of the others with any TTL.
    for (figure, is) in verdicts {
        let shown = matches!(is.as_str(), "worse" | "better");
        assert_eq!(shown, figure == "redlock lost_updates_peak", "{figure}: {is}");
        assert!(!shown || is == "better", "{figure}: {is}");
    }
}

/// A lock whose node answers so late, and requests that begin when they are due.
fn due(delay: &str) -> String {
    format!(
        r#"
title = "A lock on a slow link"
duration = "3s"
lab = {{ hosts = 1 }}
swarm = {{ servers = 2, workers = 32, rate = "500/s" }}
workload = {{ kind = "inventory", products = 1000, stock = 10000000, hold = "1ms" }}
arm = [{{ name = "lock", lock = "single", host = 1, ttl = "5s" }}]
fault = [{{ at = "0s", do = "lag", on = "host:1", delay = "{delay}" }}]
"#
    )
}

/// Does something while as many threads as `busy` says keep the machine busy.
fn beside_load<T>(busy: &AtomicUsize, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for place in 0..4 {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    if place < busy.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    } else {
                        thread::sleep(std::time::Duration::from_millis(10));
                    }
                }
            });
        }
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

/// The exit code of a gate that holds one group of twelve runs against another, which were recorded in this order of sides, each with its
/// delay, while so many threads kept the machine busy.
fn gate(
    comparison: usize,
    delays: [&str; 2],
    order: impl Fn(usize) -> usize,
    load: impl Fn(usize) -> usize,
) -> Option<i32> {
    let place = Place::new("0.toml", &due(delays[0]));
    std::fs::write(place.at("1.toml"), due(delays[1])).unwrap();
    let (busy, mut runs) = (AtomicUsize::new(0), [0; 2]);
    beside_load(&busy, || {
        for run in 0..24 {
            busy.store(load(run), Ordering::Relaxed);
            let side = order(run);
            std::fs::create_dir_all(place.at(&format!("{side}"))).unwrap();
            let (scenario, record) = (format!("{side}.toml"), format!("{side}/{run}.json"));
            // Each seed is played once on each side.
            runs[side] += 1;
            let seed = (100 * comparison + runs[side]).to_string();
            printed(
                &place,
                &["run", &scenario, "--seed", &seed, "--record", &record, "--quiet"],
            );
        }
    });
    let (code, stdout, stderr) = ended(&mut lockstorm(
        place.path(),
        &["compare", "1", "--baseline", "0", "--force"],
    ));
    println!(
        "{comparison}: {code:?} {} {stderr}",
        stdout
            .lines()
            .take(if code == Some(4) { 60 } else { 3 })
            .collect::<Vec<_>>()
            .join(" | ")
    );
    code
}

/// Each group on a machine that is as busy as it likes: what changes between them is no regression.
#[test]
#[ignore = "slow: .ci/long compare"]
fn of_equal_groups_recorded_one_after_the_other_under_changing_load_none_is_called_worse() {
    let after_the_other = |run| run / 12;
    let codes = (0..20).map(|comparison| {
        let load = |run: usize| if run < 12 { comparison % 2 } else { (comparison / 2) % 5 };
        gate(comparison, ["10ms", "10ms"], after_the_other, load)
    });
    let codes: Vec<_> = codes.collect();
    assert!(!codes.contains(&Some(4)), "{codes:?}");
}

/// On a quiet machine: where it is starved, a tenth is little beside what p99 varies by. With longer delays the rate is not kept.
#[test]
#[ignore = "slow: .ci/long compare"]
fn ten_percent_are_found_in_runs_that_take_turns() {
    // A B B A
    let in_turns = |run: usize| usize::from(matches!(run % 4, 1 | 2));
    let found = (0..10).filter(|comparison| gate(*comparison, ["10ms", "11ms"], in_turns, |_| 0) == Some(4));
    let found = found.count();
    assert!(found >= 9, "{found} of 10");
}
