//! Lockstorm as a speaker would show it: each built-in scenario in a real terminal that is large and small by turns, untouched and with
//! keys at the wrong time. Damage and its cause are shown while they are fresh, and each way ends with a correct summary.
//! Linux only, because it reads /proc.
#![cfg(target_os = "linux")]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use lockstorm_data::facts::{Event, EventKind, OrderedBy};
use lockstorm_data::metrics::{ConsequenceKind, Entry, Metric};
use lockstorm_data::model::{Action, CheckResult, Condition, Fault, HostId, Target};
use lockstorm_data::scenario::{LockKind, builtin};
use lockstorm_kit::alone;
use lockstorm_kit::console::{Console, Screen, Size};
use lockstorm_run::Record;

/// The sizes of the terminal, and how long it has each.
const SIZES: [Size; 2] = [(120, 36), (80, 24)];
const TURN: Duration = Duration::from_millis(400);
/// `make`'s scenario in short: damage from the start, a death of host 1, and an expectation of each kind.
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
    size: Size,
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

/// Plays a scenario to its end, and presses keys when the screen shows that this part of it is over.
fn play(scenario: &str, text: &str, keys: &[(f64, &str)]) -> Shown {
    let _turn = alone();
    let files = [(scenario, text)];
    let files = if builtin::find(scenario).is_none() {
        files.as_slice()
    } else {
        &[]
    };
    let mut console = Console::start(SIZES[0], &[scenario, "--no-briefing"], files);
    let (mut frames, mut keys): (Vec<Frame>, _) = (Vec::new(), keys.iter().peekable());
    let (end, mut turned) = (Instant::now() + TEST_TIMEOUT, Instant::now());
    let mut sizes = SIZES.into_iter().cycle().skip(1);
    let mut size = SIZES[0];
    loop {
        let text = console.screen().text;
        let over = text.contains("FINISHED");
        if turned.elapsed() >= TURN && !over {
            size = sizes.next().unwrap_or(size);
            console.terminal.resize(size);
            turned = Instant::now();
            // What is on the screen until it is drawn anew is of neither size.
            thread::sleep(Duration::from_millis(100));
            continue;
        }
        let now = second(&text).or(frames.last().map(|frame| frame.second)).unwrap_or(0.0);
        if let Some((_, pressed)) = keys.next_if(|(at, _)| part(&text).is_some_and(|now| now >= *at)) {
            console.press(pressed);
            console.wait_for("an answer to the key", |screen| answers(&screen.text));
        }
        assert!(Instant::now() < end, "no end of it:\n{text}");
        if frames.last().is_none_or(|frame| frame.text != text) {
            frames.push(Frame {
                second: now,
                size,
                text,
            });
        }
        if over {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    // The whole summary fits.
    let size = (120, 80);
    console.terminal.resize(size);
    let is_drawn = |text: &str| text.lines().count() == usize::from(size.1) && text.contains("FINISHED");
    let text = console
        .wait_for("a large last screen", |screen| is_drawn(&screen.text))
        .text;
    frames.push(Frame {
        second: f64::INFINITY,
        size,
        text,
    });
    let record = saved(&mut console);
    // A run whose work is done ends early.
    let whole = record.elapsed >= record.scenario.duration.as_secs_f64() - 1.0;
    assert!(!whole || keys.next().is_none(), "a key whose time did not come");
    console.press("q");
    let (_, printed) = console.end();
    Shown {
        frames,
        record,
        printed,
    }
}

/// The part of the run that is over, by the seconds in the header: `▶ RUN 12 s ━━━─── 42 s`.
fn part(text: &str) -> Option<f64> {
    let whole = text.lines().next()?.trim_end().strip_suffix(" s")?.rsplit(' ').next()?;
    Some(second(text)? / whole.parse::<f64>().ok()?)
}

/// Whether the line above the keys, or what happened, answers a key that bounces host 1.
fn answers(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let status = lines.iter().rev().nth(1).copied().unwrap_or_default();
    status.contains("host 1") || status.contains("bounce") || text.contains("host 1 bounced")
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
        let line = bare(&format!("{sign} {checked}"));
        assert!(said.contains(&line), "{line} is not on the screen:\n{screen}");
        assert!(bare(printed).contains(&line), "{line} was not printed:\n{printed}");
    }
    for (arm, spec) in record.arms.iter().zip(&record.scenario.arms) {
        let figures = &arm.figures;
        let damage = Metric::proven(figures).next().is_some();
        // A small terminal shows only the end of what was printed.
        for text in [screen, printed].into_iter().filter(|text| text.contains("verdict")) {
            let row = row_of(text, &arm.name);
            match (spec.lock, arm.doubt.is_some()) {
                (LockKind::None, _) if !spec.update.is_guarded() => assert!(row.contains("control"), "{row}"),
                // What is in the books stands, whatever else is in doubt.
                (_, true) => {
                    let stands = damage && arm.damage_stands && row.contains("✖ UNSAFE");
                    assert!(!row.contains('✔') && (stands || row.contains("inconclusive")), "{row}");
                }
                _ => {
                    // A lock that lets a stampede through has that verdict.
                    let is_unsafe = row.contains("✖ UNSAFE");
                    let is_bad = is_unsafe || row.contains("✖ STAMPEDES");
                    assert!(if damage { is_bad } else { !is_unsafe }, "{row}");
                    assert!(!damage || !row.contains("✔ safe"), "{row}");
                }
            }
        }
    }
    // If a fault of the scenario did not happen, there is nothing to praise.
    let scripted = |event: &Event| {
        let by = OrderedBy::Fault(1);
        matches!(event.kind, EventKind::Fault { by: of, .. } if of == by) && took_effect(event)
    };
    if !record.scenario.faults.is_empty() && !record.events.iter().any(scripted) {
        assert!(!said.contains('✔'), "the scenario's fault did not happen:\n{screen}");
    }
}

/// The row of the verdicts for an arm.
fn row_of<'a>(text: &'a str, arm: &str) -> &'a str {
    let row = text.lines().find(|row| is_of(row, arm));
    row.unwrap_or_else(|| panic!("no verdict on {arm}:\n{text}"))
}

/// Whether a row begins with the name of this arm, or with as much of it as there is room for.
fn is_of(row: &str, arm: &str) -> bool {
    let row = row.trim_start_matches(['›', '│', ' ']);
    let name = row.split("  ").next().unwrap_or_default();
    name.strip_suffix('…')
        .map_or(name == arm, |start| arm.starts_with(start))
}

const fn took_effect(event: &Event) -> bool {
    matches!(event.kind, EventKind::Fault { effect_at: Some(_), .. })
}

/// What the screen says of why an arm was damaged.
const WHY: [&str; 18] = [
    "all buy at once",
    "all pay at once",
    "every server runs it",
    "one mutex per server",
    "released too early",
    "payee is not locked",
    "no second check",
    "worked without lock",
    "forgotten",
    "emptiness replicated",
    "emptied despite WAIT",
    "new master lacked",
    "old master gave",
    "paused past its TTL",
    "outlived TTL",
    "two held it",
    "unexplained",
    "fence refused",
];

/// Asserts that on each terminal this is shown while it is fresh.
fn is_shown(shown: &Shown, at: f64, what: &str, is_so: impl Fn(&str) -> bool) {
    for size in SIZES {
        let first = shown
            .frames
            .iter()
            .find(|frame| frame.size == size && is_so(&frame.text));
        let first = first.unwrap_or_else(|| panic!("nowhere on the screen of {size:?}: {what}"));
        assert!(
            first.second <= at + FRESH,
            "known at {at:.1} s, shown at {} s: {what}\n{}",
            first.second,
            first.text
        );
    }
}

/// Asserts that every arm with proven damage is marked on the screen while the proof is fresh, with its cost and why, and that what a node
/// forgot is told.
fn damage_is_named_at_once(shown: &Shown) {
    for event in &shown.record.events {
        let EventKind::Damage { arm, by_stall, .. } = &event.kind else {
            continue;
        };
        // What this machine did has no cause in a lock.
        if *by_stall {
            continue;
        }
        is_shown(shown, event.at, &event.text(), |text| {
            text.lines().any(|row| {
                let cost = row
                    .split("✖ ")
                    .skip(1)
                    .any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
                is_of(row, arm) && cost && WHY.iter().any(|why| row.contains(why))
            })
        });
    }
    for arm in &shown.record.arms {
        for consequence in &arm.figures.consequences {
            let words: &[&str] = match consequence.kind {
                ConsequenceKind::Forgot { .. } => &["forgotten"],
                ConsequenceKind::EmptinessReplicated { .. } => &["replicated", "despite WAIT", "forgotten"],
                ConsequenceKind::KeptVotes { .. } => &["kept"],
                _ => continue,
            };
            let what = format!("{}: {}", arm.name, consequence.kind);
            is_shown(shown, consequence.at, &what, |text| {
                words.iter().any(|word| text.contains(word))
            });
        }
    }
}

/// Asserts that no screen says what the record denies: what a lock cost never falls and ends as the record has it, and a host is shown as
/// dead while it was, and as alive while it was.
fn nothing_is_denied_by_the_record(shown: &Shown) {
    let Shown { frames, record, .. } = shown;
    for arm in &record.arms {
        let mut before = 0;
        let counts = frames
            .iter()
            .filter_map(|frame| Some((frame, cost_of(&frame.text, &arm.name)?)));
        for (frame, cost) in counts {
            assert!(cost >= before, "{}: {before} and then {cost}\n{}", arm.name, frame.text);
            before = cost;
        }
        if record.scenario.workload.about().display().cost == Metric::LostUpdates {
            let last = arm.figures.booked(Entry::LostUpdatesPeak);
            assert!(before <= last, "{}: {before} of {last}", arm.name);
        }
    }
    for host in 1..=record.scenario.lab.hosts {
        let is_of = |event: &&Event| matches!(&event.kind, EventKind::Fault { target, .. } if *target == Target::Host(HostId(host)));
        let effects = record
            .events
            .iter()
            .filter(is_of)
            .filter_map(|event| match &event.kind {
                EventKind::Fault { action, effect_at, .. } => Some((event.at, (*effect_at)?, *action)),
                _ => None,
            });
        let effects: Vec<(f64, f64, Action)> = effects.collect();
        for (index, (_, from, action)) in effects.iter().enumerate() {
            // Who comes back may answer before that is proved.
            let until = effects.get(index + 1).map_or(record.elapsed, |(ordered, ..)| *ordered);
            let is_down = matches!(action, Action::Fault(Fault::Kill | Fault::Shutdown));
            let wide = frames
                .iter()
                .filter(|frame| frame.size == SIZES[0] && frame.text.contains("▶ RUN"));
            // The header has whole seconds, and a snapshot is a tenth of one old.
            for frame in wide.filter(|frame| frame.second > from + 0.5 && frame.second + 1.5 < until) {
                let said = Screen {
                    text: frame.text.clone(),
                };
                assert_eq!(
                    said.host(host).contains('✖'),
                    is_down,
                    "host {host} since {from:.1}\n{}",
                    frame.text
                );
            }
        }
    }
}

/// What an arm's row says that it cost, if that is what the column counts: other damage has its name behind it.
fn cost_of(text: &str, arm: &str) -> Option<u64> {
    let row = text.lines().find(|row| is_of(row, arm))?;
    let cost = row.split("✖ ").nth(1)?.split("  ").next()?;
    cost.trim().replace(',', "").parse().ok()
}

/// How often this action on host 1 took effect, according to the record.
fn done(record: &Record, action: Action) -> usize {
    let host = Target::Host(HostId(1));
    let is_it = |event: &&Event| {
        let own = matches!(&event.kind, EventKind::Fault { action: a, target, .. } if *a == action && *target == host);
        own && took_effect(event)
    };
    record.events.iter().filter(is_it).count()
}

/// Plays one way and checks its end.
fn shown(scenario: &str, keys: &[(f64, &str)]) -> Shown {
    shown_of(scenario, SHORT, keys)
}

/// The same, with this text for the scenario that has a file.
fn shown_of(scenario: &str, text: &str, keys: &[(f64, &str)]) -> Shown {
    let shown = play(scenario, text, keys);
    is_true(&shown);
    damage_is_named_at_once(&shown);
    nothing_is_denied_by_the_record(&shown);
    shown
}

#[test]
fn a_short_scenario_untouched() {
    shown("short.toml", &[]);
}

#[test]
fn a_bounce_in_a_short_scenario() {
    let shown = shown("short.toml", &[(0.5, "1b")]);
    let [kills, restarts] = [Action::Fault(Fault::Kill), Action::Undo(Condition::Down)];
    let [kills, restarts] = [kills, restarts].map(|action| done(&shown.record, action));
    assert_eq!((kills, restarts), (2, 2), "the scenario's and ours");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn kill_and_restore_at_the_wrong_time() {
    let shown = shown("failover", &[(0.06, "1k"), (0.4, "r")]);
    assert!(done(&shown.record, Action::Fault(Fault::Kill)) >= 1);
    assert!(done(&shown.record, Action::Undo(Condition::Down)) >= 1);
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn six_arms_for_a_minute_and_three_dead_app_servers() {
    let failover = builtin::find("failover").expect("it is built in").text;
    let (head, _) = failover.split_once("[[fault]]").expect("it has faults");
    let fault = |server: usize| {
        let at = server * 15;
        format!("[[fault]]\nat = \"{at}s\"\ndo = \"kill\"\non = \"server:{server}\"\n")
    };
    let faults: String = (1..=3).map(fault).collect();
    let text = format!("{}{faults}", head.replace("\"42s\"", "\"60s\""));
    let shown = shown_of("six.toml", &text, &[]);
    assert_eq!(shown.record.arms.len(), 6);
    let dead = |event: &&Event| {
        matches!(
            &event.kind,
            EventKind::Fault {
                target: Target::Server(_),
                effect_at: Some(_),
                ..
            }
        )
    };
    assert_eq!(shown.record.events.iter().filter(dead).count(), 3);
}

/// Plays a built-in scenario untouched, and with a bounce before its first act and another one late.
fn built_in(scenario: &str) {
    shown(scenario, &[]);
    shown(scenario, &[(0.03, "1b"), (0.6, "1b")]);
}

#[test]
fn no_built_in_scenario_is_left_out() {
    let source = include_str!("speaker.rs");
    for scenario in builtin::ALL {
        let call = format!("built_in(\"{}\")", scenario.name);
        assert!(source.contains(&call), "{call} is missing");
    }
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn consensus() {
    built_in("consensus");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn consensus_paused() {
    built_in("consensus-paused");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn consensus_price() {
    built_in("consensus-price");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn double_submit() {
    built_in("double-submit");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn payment() {
    built_in("payment");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn waiters() {
    built_in("waiters");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn early_release() {
    built_in("early-release");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn endless_renewal() {
    built_in("endless-renewal");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn fail_open() {
    built_in("fail-open");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn job_twice() {
    built_in("job-twice");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn wait_enough() {
    built_in("wait-enough");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn bounce_with_aof() {
    built_in("bounce-with-aof");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn cluster_counts_as_one() {
    built_in("cluster-counts-as-one");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn failover_five() {
    built_in("failover-five");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn failover() {
    built_in("failover");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn fencing() {
    built_in("fencing");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn flash_sale() {
    built_in("flash-sale");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn isolated_master() {
    built_in("isolated-master");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn paged_list() {
    built_in("paged-list");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn paused_client() {
    built_in("paused-client");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn quorum_loss() {
    built_in("quorum-loss");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn replica_lag() {
    built_in("replica-lag");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn rolling_restart() {
    built_in("rolling-restart");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn single_vs_redlock() {
    built_in("single-vs-redlock");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn slow_job() {
    built_in("slow-job");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn stampede() {
    built_in("stampede");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn ttl_race() {
    built_in("ttl-race");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn wait_one() {
    built_in("wait-one");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn zombie_master() {
    built_in("zombie-master");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn clock_jump() {
    built_in("clock-jump");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn delayed_restart() {
    built_in("delayed-restart");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn frozen_clock() {
    built_in("frozen-clock");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn power_loss() {
    built_in("power-loss");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn restart_amnesia() {
    built_in("restart-amnesia");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn operator_flush() {
    built_in("operator-flush");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn eviction() {
    built_in("eviction");
}

#[test]
#[ignore = "slow: .ci/long speaker"]
fn one_way_partition() {
    built_in("one-way-partition");
}
