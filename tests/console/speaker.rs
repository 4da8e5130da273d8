//! Lockstorm as a speaker would show it: `make`'s scenario in a real terminal, untouched, with the key that the hint
//! suggests, and with keys at the wrong time. Each way ends with a correct summary, and damage is shown while it is fresh.
//! Linux only, because it reads /proc.
#![cfg(target_os = "linux")]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use lockstorm_data::model::{Action, CheckResult, Condition, Event, EventKind, Fault, HostId, Target};
use lockstorm_data::scenario::LockKind;
use lockstorm_kit::beside;
use lockstorm_kit::console::{Console, Size};
use lockstorm_run::Record;

const WIDE: Size = (120, 36);
const SMALL: Size = (80, 24);
/// The scenario of `make`.
const SCENARIO: &str = "failover";
/// The same in short: damage from the start, a death of host 1, and an expectation of each kind.
const SHORT: &str = r#"
title = "One death of one host, in short"
duration = "6s"
seed = 42
swarm = { servers = 2, workers = 8, think = "20ms" }
workload = { kind = "inventory", products = 16, stock = 1000000, hold = { median = "20ms", sigma = 0.1 } }
arm = [
    { name = "no lock", lock = "none" },
    { name = "single", lock = "single" },
    { name = "redlock", lock = "redlock" },
]
fault = [
    { at = "1s", do = "kill", on = "host:1", for = "300ms" },
]
[expect]
"no lock.lost_updates" = "> 0"
"single.acquired"      = "< 1"
"redlock.lost_updates" = "== 0"
"#;
/// Longer than the scenario on any machine.
const TEST_TIMEOUT: Duration = Duration::from_mins(3);
/// Damage must be on the screen within this many seconds of the run.
const FRESH: f64 = 2.0;

/// A screen that differs from the one before, with the second of the run that it shows.
struct Frame {
    second: f64,
    text: String,
}

/// The result: all screens, the record, and the terminal after the end.
struct Shown {
    frames: Vec<Frame>,
    record: Record,
    printed: String,
}

/// The second that the header shows while the run goes on: `▶ RUN 12 s`.
fn second(text: &str) -> Option<f64> {
    let after = text.lines().next()?.split("RUN ").nth(1)?;
    after.split(' ').next()?.parse().ok()
}

/// Plays a scenario to its end, and presses keys when the screen shows their second.
fn play(scenario: &str, size: Size, keys: &[(f64, &str)]) -> Shown {
    let _turn = beside();
    let mut console = Console::start(size, &[scenario, "--no-briefing"], &[("short.toml", SHORT)]);
    let (mut frames, mut keys): (Vec<Frame>, _) = (Vec::new(), keys.iter().peekable());
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        let text = console.screen().text;
        let now = second(&text).or(frames.last().map(|frame| frame.second)).unwrap_or(0.0);
        if let Some((_, pressed)) = keys.next_if(|(at, _)| second(&text).is_some_and(|now| now >= *at)) {
            console.press(pressed);
        }
        let over = text.contains("FINISHED");
        assert!(Instant::now() < end, "no end of it:\n{text}");
        if frames.last().is_none_or(|frame| frame.text != text) {
            frames.push(Frame { second: now, text });
        }
        if over {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert!(keys.next().is_none(), "a key whose time did not come");
    let record = saved(&mut console);
    console.press("q");
    let (_, printed) = console.end();
    Shown {
        frames,
        record,
        printed,
    }
}

/// The record, which the save key writes once the lab is down.
fn saved(console: &mut Console) -> Record {
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        let texts = console.records().into_iter().filter_map(|path| fs::read(path).ok());
        if let Some(record) = texts.into_iter().find_map(|text| serde_json::from_slice(&text).ok()) {
            return record;
        }
        assert!(Instant::now() < end, "no record:\n{}", console.screen().text);
        console.press("S");
        thread::sleep(Duration::from_millis(500));
    }
}

/// Text without spaces and frames, so that it doesn't depend on how it was wrapped.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '│').collect()
}

/// Asserts that the summary on the screen agrees with the record, and praises nothing that could not have shown.
fn is_true(shown: &Shown) {
    let Shown {
        frames,
        record,
        printed,
    } = shown;
    let screen = &frames.last().expect("a last screen").text;
    let said = bare(screen);
    for checked in &record.expectations {
        let sign = match checked.result {
            CheckResult::Held => continue,
            CheckResult::Failed => '≠',
            CheckResult::Inconclusive => '?',
        };
        let line = bare(&format!("{sign} {}", checked.text));
        assert!(said.contains(&line), "{line} is not on the screen:\n{screen}");
        assert!(bare(printed).contains(&line), "{line} was not printed:\n{printed}");
    }
    for (arm, spec) in record.arms.iter().zip(&record.scenario.arms) {
        let figures = &arm.figures;
        let damage = figures.lost_updates > 0 || figures.oversold > 0 || figures.double_holds > 0;
        // A small terminal shows only the end of what was printed.
        for text in [screen, printed].into_iter().filter(|text| text.contains("verdict")) {
            let row = row_of(text, &arm.name);
            match (spec.lock, arm.doubt.is_some()) {
                (LockKind::None, _) => assert!(row.contains("control"), "{row}"),
                (_, true) => assert!(!row.contains('✔') && row.contains("inconclusive"), "{row}"),
                _ => {
                    assert_eq!(row.contains("✖ UNSAFE"), damage, "{row}");
                    assert!(!damage || !row.contains("✔ safe"), "{row}");
                }
            }
        }
    }
    // If a fault of the scenario did not happen, there is nothing to praise.
    let scripted = |event: &Event| {
        let begins = event.text.contains("fault 1") && !event.text.contains("end of fault 1");
        begins && took_effect(event)
    };
    if !record.events.iter().any(scripted) {
        assert!(!said.contains('✔'), "the scenario's fault did not happen:\n{screen}");
    }
}

/// The row of the verdicts for an arm.
fn row_of<'a>(text: &'a str, arm: &str) -> &'a str {
    let row = text
        .lines()
        .find(|row| row.trim_start_matches(['│', ' ']).starts_with(&format!("{arm} ")));
    row.unwrap_or_else(|| panic!("no verdict on {arm}:\n{text}"))
}

const fn took_effect(event: &Event) -> bool {
    matches!(event.kind, EventKind::Fault { effect_at: Some(_), .. })
}

/// What the screen says of why an arm was damaged here.
const WHY: [&str; 4] = ["nothing keeps", "forgotten", "replicated", "emptied"];

/// Asserts that every arm with proven damage is marked on the screen while the proof is fresh, and why.
fn damage_is_named_at_once(shown: &Shown) {
    for event in &shown.record.events {
        let EventKind::Damage { arm } = &event.kind else {
            continue;
        };
        let marked = |frame: &&Frame| {
            let is_of = |row: &str| row.trim_start_matches(['›', ' ']).starts_with(&format!("{arm} "));
            let has = |row: &str| row.contains('✖') && WHY.iter().any(|why| row.contains(why));
            frame.text.lines().any(|row| is_of(row) && has(row))
        };
        let first = shown.frames.iter().find(marked);
        let first = first.unwrap_or_else(|| panic!("nowhere on the screen: {}", event.text));
        assert!(
            first.second <= event.at + FRESH,
            "proven at {:.1} s, shown at {} s: {}\n{}",
            event.at,
            first.second,
            event.text,
            first.text
        );
    }
}

/// How often this action on host 1 took effect, according to the record.
fn done(record: &Record, action: Action, why: &str) -> usize {
    let host = Target::Host(HostId(1));
    let is_it = |event: &&Event| {
        let own = matches!(&event.kind, EventKind::Fault { action: a, target, .. } if *a == action && *target == host);
        own && took_effect(event) && event.text.contains(why)
    };
    record.events.iter().filter(is_it).count()
}

/// Plays one way and checks its end.
fn shown(scenario: &str, size: Size, keys: &[(f64, &str)]) -> Shown {
    let shown = play(scenario, size, keys);
    is_true(&shown);
    damage_is_named_at_once(&shown);
    shown
}

fn bounced(scenario: &str, size: Size, keys: &[(f64, &str)]) {
    let shown = shown(scenario, size, keys);
    assert_eq!(done(&shown.record, Action::Fault(Fault::Kill), "bounce"), keys.len());
    // Each kill has its restart, even the scenario's.
    let kills = done(&shown.record, Action::Fault(Fault::Kill), "");
    assert_eq!(done(&shown.record, Action::Undo(Condition::Down), ""), kills);
}

#[test]
fn a_short_scenario_untouched() {
    shown("short.toml", WIDE, &[]);
}

#[test]
fn a_bounce_in_a_short_scenario_on_a_small_terminal() {
    bounced("short.toml", SMALL, &[(3.0, "1b")]);
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn the_scenario_untouched() {
    for size in [WIDE, SMALL] {
        shown(SCENARIO, size, &[]);
    }
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn a_bounce_at_the_start() {
    for size in [WIDE, SMALL] {
        bounced(SCENARIO, size, &[(1.0, "1b")]);
    }
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn a_bounce_in_the_middle() {
    for size in [WIDE, SMALL] {
        bounced(SCENARIO, size, &[(22.0, "1b")]);
    }
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn a_bounce_twice() {
    for size in [WIDE, SMALL] {
        bounced(SCENARIO, size, &[(3.0, "1b"), (25.0, "b")]);
    }
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn kill_and_restore_at_the_wrong_time() {
    for size in [WIDE, SMALL] {
        let shown = shown(SCENARIO, size, &[(2.5, "1k"), (18.0, "r")]);
        assert!(done(&shown.record, Action::Fault(Fault::Kill), "") >= 1);
        assert!(done(&shown.record, Action::Undo(Condition::Down), "") >= 1);
    }
}
