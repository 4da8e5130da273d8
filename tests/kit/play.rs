//! Scenarios played in this process: commands for a run, and what its record says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lockstorm_data::facts::Caveat;
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::metrics::{Count, Figures, Point, Series};
use lockstorm_data::model::{Action, CheckResult, Condition, HostId, OrderId, ServerId, Target};
use lockstorm_data::scenario::Scenario;
use lockstorm_run::{ArmRecord, Command, Machine, Phase, Record, RunHandle, RunOptions, Snapshot, Timeouts};

use super::program::keeper;
use super::scenario::scenario;

/// Generous: only a run that hangs takes this long.
const LIMIT: Duration = Duration::from_mins(2);

/// A run that goes on.
pub struct Run(RunHandle);

impl Run {
    /// Starts a run, and waits until its load is on.
    pub fn start(text: &str, set: &[&str]) -> Self {
        let run = Self::begin(scenario(text, set));
        run.until("it runs", |snapshot| snapshot.phase == Phase::Running);
        run
    }

    /// Starts a run, and waits for nothing.
    pub fn begin(scenario: Scenario) -> Self {
        Self::with(scenario, RunOptions::default())
    }

    /// Starts a run with these options and the keeper of the tests, and waits for nothing.
    pub fn with(scenario: Scenario, options: RunOptions) -> Self {
        let keeper = Some(keeper());
        Self(lockstorm_run::start(scenario, RunOptions { keeper, ..options }))
    }

    pub fn now(&self) -> Arc<Snapshot> {
        self.0.snapshots.borrow().clone()
    }

    /// Waits until a snapshot is so, and returns it.
    pub fn until(&self, what: &str, is_so: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let start = Instant::now();
        loop {
            let snapshot = self.now();
            if is_so(&snapshot) {
                return snapshot;
            }
            if let Phase::Failed(error) = &snapshot.phase {
                panic!("{error}; waited for: {what}");
            }
            assert!(
                start.elapsed() < LIMIT,
                "not within {LIMIT:?}: {what}\n{}",
                seen(&snapshot)
            );
            sleep(Duration::from_millis(20));
        }
    }

    pub fn order(&self, command: Command) {
        self.0.commands.send(command).expect("the run listens");
    }

    pub fn fault(&self, action: impl Into<Action>, target: Target) {
        self.order(Command::Fault {
            action: action.into(),
            target,
            order: OrderId::default(),
        });
    }

    pub fn undo(&self, condition: Condition, target: Target) {
        self.fault(Action::Undo(condition), target);
    }

    /// Stops it, and returns its record.
    pub fn stop(self) -> Record {
        self.order(Command::Stop);
        self.finish()
    }

    /// Waits until it ends by itself.
    pub fn finish(self) -> Record {
        self.0.finish().unwrap_or_else(|error| panic!("{error}"))
    }
}

/// What a snapshot shows, without its series: a failure must say it within what a log keeps.
fn seen(snapshot: &Snapshot) -> String {
    let arms = snapshot.arms.iter();
    let arms = arms.map(|arm| format!("{}: {:?} {:?}\n", arm.name, arm.live, arm.figures));
    format!(
        "{}{:#?}\n{}",
        arms.collect::<String>(),
        snapshot.hosts,
        lines(&snapshot.events)
    )
}

pub const fn host(id: usize) -> Target {
    Target::Host(HostId(id))
}

pub const fn server(id: usize) -> Target {
    Target::Server(ServerId(id))
}

/// Plays a scenario to its end. No request of any arm may fail.
pub fn play(scenario: Scenario) -> Record {
    let record = Run::begin(scenario).finish();
    for arm in &record.arms {
        assert_eq!(
            arm.figures.counts[Count::Errors],
            0,
            "{}: {} failed requests",
            record.scenario.name,
            arm.name
        );
    }
    record
}

/// The same for a scenario whose expectations must hold.
pub fn held(scenario: Scenario) -> Record {
    let record = play(scenario);
    for checked in &record.expectations {
        assert_eq!(
            checked.result,
            CheckResult::Held,
            "{}: {}\n{}",
            record.scenario.name,
            checked,
            told(&record)
        );
    }
    assert!(!record.expectations.is_empty());
    record
}

pub fn arm<'a>(record: &'a Record, name: &str) -> &'a ArmRecord {
    let arm = record.arms.iter().find(|arm| arm.name == name);
    arm.unwrap_or_else(|| panic!("there is no arm {name}"))
}

/// Each caveat in words.
pub fn texts(caveats: &[Caveat]) -> Vec<String> {
    caveats.iter().map(Caveat::to_string).collect()
}

/// What happened, a line for each event: a failure must say it within what a log keeps.
pub fn told(record: &Record) -> String {
    lines(&record.events)
}

fn lines(events: &[Event]) -> String {
    let lines = events
        .iter()
        .map(|event| format!("{:8.3} s  {}", event.at, event.text()));
    lines.collect::<Vec<_>>().join("\n")
}

/// What was ordered and took effect: the action, its target, and in seconds when it was ordered and when it took effect.
pub fn effects(record: &Record) -> Vec<(Action, Target, [f64; 2])> {
    let effect = |event: &Event| match event.kind {
        EventKind::Fault {
            action,
            target,
            effect_at: Some(effect),
            error: None,
            ..
        } => Some((action, target, [event.at, effect])),
        _ => None,
    };
    record.events.iter().filter_map(effect).collect()
}

/// When the n-th action of this kind took effect, in seconds.
pub fn effect(record: &Record, wanted: impl Into<Action>, n: usize) -> f64 {
    let wanted = wanted.into();
    let mut times = effects(record).into_iter().filter(|(action, ..)| *action == wanted);
    let (.., [_, at]) = times
        .nth(n)
        .unwrap_or_else(|| panic!("no {wanted} number {n}:\n{}", told(record)));
    at
}

/// The points of the whole seconds between two times.
pub fn seconds(arm: &ArmRecord, from: f64, to: f64) -> impl Iterator<Item = &Point> {
    let whole = move |point: &&Point| point.time as f64 >= from && (point.time + 1) as f64 <= to;
    arm.series.iter().filter(whole)
}

/// The record of a run of 30 s in which nothing happened.
pub fn record(mut scenario: Scenario, arms: Vec<ArmRecord>) -> Record {
    // It keeps no comments.
    scenario.about.clear();
    Record {
        format: Record::FORMAT,
        lockstorm: "0.0.0".to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        second_zero: None,
        scenario_toml: String::new(),
        seed: scenario.seed,
        machine: Machine {
            os: "Linux".to_owned(),
            arch: "x86_64".to_owned(),
            cpus: 2,
            memory: None,
        },
        nodes: Vec::new(),
        timeouts: Timeouts {
            connect: Duration::from_millis(100),
            cache: Duration::from_millis(100),
        },
        elapsed: 30.0,
        interrupted: false,
        inconclusive: Vec::new(),
        partial: Vec::new(),
        arms,
        round_trips: Vec::new(),
        processor_wait: None,
        processor_used_by_others: None,
        expectations: Vec::new(),
        reported: None,
        events: Vec::new(),
        warnings: Vec::new(),
        scenario,
    }
}

/// An arm of such a record.
pub fn arm_record(name: &str, lock: &str, figures: Figures) -> ArmRecord {
    ArmRecord {
        name: name.to_owned(),
        lock: lock.to_owned(),
        ttl: Duration::from_secs(2),
        node_timeout: None,
        doubt: None,
        damage_stands: true,
        figures,
        histograms: BTreeMap::new(),
        evidence: Vec::new(),
        phases: Vec::new(),
        series: Series::default(),
        after_end: Point::default(),
        first_error: None,
    }
}
