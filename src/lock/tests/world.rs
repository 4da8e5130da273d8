//! The shipped lock protocol in a virtual world, seed by seed: no matter what breaks, and how messages, clocks and callers
//! coincide, no law of the lock is broken.
//!
//! `LOCKSTORM_WORLD_SEEDS=100000` plays more seeds, `LOCKSTORM_WORLD_FIRST=100000` others. `LOCKSTORM_WORLD_SEED=123`
//! plays one, and prints what happened around a violation.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use lockstorm_lock::simulation::{Report, Settings, World};

/// The seeds for every change.
const SEEDS: u64 = 20_000;

/// How many failing seeds are reported in full.
const REPORTED: usize = 5;

/// How much is printed before and after a violation.
const AROUND: Duration = Duration::from_millis(30);

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

fn play(seed: u64) -> Report {
    World::new(Settings::drawn(seed), seed).unwrap().play()
}

/// The reports of this many seeds, beginning with the first one.
fn reports(first: u64, seeds: u64) -> Vec<(u64, Report)> {
    let next = AtomicU64::new(first);
    let play_some = || {
        let mut reports = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                return reports;
            }
            reports.push((seed, play(seed)));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut reports: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(play_some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    reports.sort_by_key(|(seed, _)| *seed);
    reports
}

/// The violations by check: in how many seeds, and the first of them. The mutants' part of `.ci/long` reads these lines.
fn by_check(reports: &[(u64, Report)]) -> String {
    let mut seeds = BTreeMap::<String, Vec<u64>>::new();
    for (seed, report) in reports {
        for violation in &report.violations {
            let list = seeds.entry(format!("{:?}", violation.check)).or_default();
            if list.last() != Some(seed) {
                list.push(*seed);
            }
        }
    }
    let mut text = String::new();
    for (check, list) in seeds {
        let _ = writeln!(
            text,
            "law {check}: broken in {} seeds, first in {}",
            list.len(),
            list[0]
        );
    }
    text
}

/// A law that is never put to the test can't be broken, so all that matters must have happened.
#[test]
fn no_law_is_broken_while_everything_that_matters_happens() {
    if let Some(seed) = number("LOCKSTORM_WORLD_SEED") {
        return explain(seed);
    }
    let seeds = number("LOCKSTORM_WORLD_SEEDS").unwrap_or(SEEDS);
    let reports = reports(number("LOCKSTORM_WORLD_FIRST").unwrap_or(0), seeds);
    let mut text = String::new();
    let broken = reports.iter().filter(|(_, report)| !report.violations.is_empty());
    for (seed, report) in broken.take(REPORTED) {
        for violation in &report.violations {
            let _ = writeln!(text, "seed {seed}: {violation}");
        }
        let _ = writeln!(
            text,
            "repeat it: LOCKSTORM_WORLD_SEED={seed} cargo test -p lockstorm-lock --test world -- --nocapture no_law"
        );
    }
    assert!(text.is_empty(), "\n{text}{}", by_check(&reports));
    if seeds >= SEEDS {
        assert_that_everything_happened(&reports);
    }
}

/// Plays one seed, and prints what happened around its first violation.
fn explain(seed: u64) {
    let mut world = World::new(Settings::drawn(seed), seed).unwrap();
    world.keep_trace();
    let report = world.play();
    println!("{:#?}", Settings::drawn(seed));
    let around = report.violations.first().map(|violation| violation.at);
    for (at, line) in world.trace() {
        if around.is_some_and(|around| at.abs_diff(around) <= AROUND) {
            println!("{at:?} {line}");
        }
    }
    let violations: Vec<_> = report.violations.iter().map(ToString::to_string).collect();
    println!(
        "{:#?}",
        Report {
            violations: Vec::new(),
            ..report
        }
    );
    assert!(violations.is_empty(), "seed {seed}:\n{}", violations.join("\n"));
}

fn assert_that_everything_happened(reports: &[(u64, Report)]) {
    let sum = |count: fn(&Report) -> u64| reports.iter().map(|(_, report)| count(report)).sum::<u64>();
    let counts = [
        ("locks granted", sum(|report| report.attempts.granted)),
        ("locks of others", sum(|report| report.attempts.contended)),
        ("attempts without a quorum", sum(|report| report.attempts.no_quorum)),
        ("attempts without answers", sum(|report| report.attempts.unknown)),
        ("votes that came too late", sum(|report| report.attempts.expired)),
        ("attempts that were dropped", sum(|report| report.attempts.dropped)),
        ("two holders after nodes forgot", sum(|report| report.overlaps)),
        ("repairs", sum(|report| report.repairs)),
        ("extensions", sum(|report| report.extensions)),
        ("losses", sum(|report| report.losses)),
        ("splits", sum(|report| report.splits)),
        ("late votes", sum(|report| report.late_votes)),
        ("withdrawn commands", sum(|report| report.withdrawn)),
        ("suspicions", sum(|report| report.suspicions)),
        ("votes refused by overload", sum(|report| report.overloads)),
        ("deletes owed after a reconnect", sum(|report| report.owed)),
        ("takeovers after expiry", sum(|report| report.takeovers)),
        ("permits_passed_on in line", sum(|report| report.permits_passed_on)),
        ("releases heard of", sum(|report| report.heard)),
        ("callers who gave up", sum(|report| report.given_up)),
        ("nodes that stopped", sum(|report| report.faults.pauses)),
        ("nodes that died", sum(|report| report.faults.crashes)),
        ("nodes that forgot", sum(|report| report.faults.forgets)),
        ("broken connections", sum(|report| report.faults.cuts)),
        ("app servers that froze", sum(|report| report.faults.freezes)),
        ("app servers that died", sum(|report| report.faults.kills)),
        ("commands of broken connections", sum(|report| report.faults.strays)),
    ];
    for (what, count) in counts {
        println!("{what}: {count}");
        assert!(count > 0, "{what}: never");
    }
}

#[test]
fn a_seed_gives_the_same_events_each_time_and_on_every_thread() {
    let seeds = 0..50;
    let here: Vec<_> = seeds.clone().map(play).collect();
    let again: Vec<_> = seeds.clone().map(play).collect();
    let there = thread::spawn(|| seeds.map(play).collect::<Vec<_>>()).join().unwrap();
    assert!(here == again && here == there);
    assert_ne!(here[0].fingerprint, here[1].fingerprint);
}
