//! The acts of a scenario follow what happens: by key, by schedule, and step by step.

use lockstorm_data::facts::NextStep;
use lockstorm_data::metrics::{Consequence, ConsequenceKind};
use lockstorm_data::model::{Condition, Fault, HostId, Target};
use lockstorm_kit::alone;
use lockstorm_kit::play::{Run, play, texts, told};
use lockstorm_kit::scenario::scenario;
use lockstorm_run::{Command, Phase, RunOptions, Snapshot};

const STORY: &str = r#"
title = "a story"
caption = "Healthy. Next: host 1 dies"
duration = "1h"
swarm = { servers = 2, workers = 2, think = "50ms" }
workload = { kind = "inventory", products = 50, stock = 100000, hold = "2ms", stock_in = "redis" }
arm = [{ name = "redlock", lock = "redlock" }]
fault = [
    { at = "5m", do = "kill", on = "host:1", title = "host 1 dies", caption = "host 1 is dead", teaches = "r: bring it back" },
    { after = "fault:1 + 5m", do = "restart", on = "host:1", title = "host 1 returns", caption = "host 1 is back" },
    { after = "fault:2 + 200ms", do = "pause", on = "host:2", for = "1m", title = "host 2 sleeps", caption = "host 2 sleeps" },
    { after = "fault:3 + 5m", do = "kill", on = "host:3", title = "host 3 dies" },
]
"#;

const fn host(n: usize) -> Target {
    Target::Host(HostId(n))
}

/// Whether this act goes on, and this is the caption.
fn is_in(snapshot: &Snapshot, act: Option<usize>, caption: &str) -> bool {
    let number = snapshot.act.as_ref().map(|act| act.number);
    number == act && snapshot.caption.as_deref() == Some(caption)
}

#[test]
fn keys_play_acts_captions_say_what_is_so_and_a_held_schedule_waits() {
    let _turn = alone();
    let run = Run::start(STORY, &[]);
    run.until("no act has begun", |s| is_in(s, None, "Healthy. Next: host 1 dies"));
    // What is no act is said as what it is.
    run.fault(Fault::Pause, host(3));
    run.until("a pause by hand", |s| is_in(s, None, "by hand: host 3 paused"));
    run.undo(Condition::Paused, host(3));
    run.until("its end", |s| is_in(s, None, "by hand: host 3 resumed"));
    // What is the next act is that act.
    run.fault(Fault::Kill, host(1));
    let first = run.until("act 1 by hand", |s| is_in(s, Some(1), "host 1 is dead"));
    let act = first.act.as_ref().expect("an act");
    assert_eq!(
        (act.of, &*act.title, act.teaches.as_deref()),
        (4, "host 1 dies", Some("r: bring it back"))
    );
    let next = first.next.as_ref().expect("the return");
    assert!(
        next.step.to_string() == "host 1 returns" && next.at.is_some_and(|at| at > 300.0),
        "{next:?}"
    );
    // While the schedule is held, nothing of it happens before a step.
    run.order(Command::Hold(true));
    run.until("it is held", |s| {
        s.held && s.next.as_ref().is_some_and(|next| next.at.is_none())
    });
    run.order(Command::Step);
    run.until("act 2", |s| is_in(s, Some(2), "host 1 is back"));
    std::thread::sleep(std::time::Duration::from_millis(600));
    run.until("act 3 waits", |s| {
        is_in(s, Some(2), "host 1 is back") && s.hosts[1].conditions.is_up()
    });
    run.order(Command::Hold(false));
    run.until("act 3 by itself", |s| is_in(s, Some(3), "host 2 sleeps"));
    // Its end makes its caption untrue.
    run.undo(Condition::Paused, host(2));
    run.until("host 2 is awake", |s| is_in(s, Some(3), "by hand: host 2 resumed"));
    // A host that is down can't die in act 4, until it is back.
    run.fault(Fault::Shutdown, host(3));
    let stopped = "act 4 kills host 3, which is down already: r brings it back and the story goes on";
    run.until("the story has stopped", |s| is_in(s, Some(3), stopped));
    run.undo(Condition::Down, host(3));
    run.until("it goes on", |s| is_in(s, Some(3), "by hand: host 3 restarted"));
    run.stop();
}

#[test]
fn a_held_run_has_no_end_until_it_is_let_go_or_ended() {
    let _turn = alone();
    let held = || {
        let (text, _) = STORY.split_once("fault =").expect("faults");
        let options = RunOptions {
            held: true,
            ..RunOptions::default()
        };
        Run::with(scenario(text, &["duration=1s"]), options)
    };
    let run = held();
    let late = run.until("it is beyond its end", |s| s.elapsed > 1.5);
    assert!(late.phase == Phase::Running && late.held, "{:?}", late.phase);
    assert_eq!((late.ends_at, late.length()), (None, 10));
    let next = late.next.as_ref().expect("the end");
    assert_eq!(next.step, NextStep::LoadEnds);
    let granted = |s: &Snapshot| s.arms[0].figures.outcomes.acquired;
    run.until("it still counts", |s| granted(s) > granted(&late));
    // It has as much time left as it had.
    run.order(Command::Hold(false));
    let record = run.finish();
    assert!(record.elapsed > 2.5 && !record.interrupted, "{}", record.elapsed);
    let told = texts(&record.warnings).join("\n");
    assert!(told.contains("the schedule was held: the load lasted"), "{told}");
    // Or it is ended by a key, as if its time were over.
    let run = held();
    run.until("it is beyond its end", |s| s.elapsed > 1.5);
    run.order(Command::End);
    assert!(!run.finish().interrupted);
}

#[test]
fn a_restart_that_is_ordered_before_the_kill_has_taken_effect_knows_what_was_forgotten() {
    let _turn = alone();
    // The kills and the restarts are due at once.
    let both = |deed: &str| [1, 2].map(|host| format!("{{ at = \"2s\", do = \"{deed}\", on = \"host:{host}\" }}"));
    let (text, _) = STORY.split_once("fault =").expect("faults");
    let text = format!(
        "{text}fault = [{}]",
        [both("kill"), both("restart")].concat().join(", ")
    );
    let set = [
        "duration=6s",
        "swarm.workers=24",
        "swarm.think=200ms",
        "workload.hold=1s",
        "arm.redlock.ttl=8s",
    ];
    let record = play(scenario(&text, &set));
    let figures = &record.arms[0].figures;
    let forgot = |one: &Consequence| matches!(one.kind, ConsequenceKind::Forgot { locks } if locks > 0);
    assert!(figures.consequences.iter().any(forgot), "{}", told(&record));
    assert!(figures.double_holds > 0, "{}", told(&record));
    assert_eq!((figures.law_violations, figures.unjudged), (0, 0), "{}", told(&record));
}
