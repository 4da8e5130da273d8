//! The record of what another program reported of its locks, so that reports, comparisons and the console can show it.
//!
//! Nobody here played a load or started a server: there are no nodes, no faults and no expectations, and what nobody has reported is
//! unknown or zero.

use std::time::{Duration, SystemTime};

use super::record::{ArmRecord, Machine, Record, Timeouts};
use crate::oracle::past::PastDouble;
use crate::oracle::reported::JudgedEvents;
use lockstorm_data::history::{Belief, DoubleHold, Holder, Load, Reported};
use lockstorm_data::metrics::{Count, Figures, Quantiles, Time};
use lockstorm_data::model::printable;
use lockstorm_data::scenario::{
    ArmSpec, LabSpec, LockKind, Overrides, ReportedSpec, Scenario, Source, WorkloadSpec, parse,
};
use strum::VariantArray;

/// What every scenario has, most of it by default. Nothing of it is shown but the name of the arm.
const REST: &str = r#"
workload = { kind = "inventory", products = 1, stock = 1, hold = "1ms" }
[[arm]]
name = "program"
lock = "none"
"#;

/// The evidence is that of the first double holds, and of the longest.
const FIRST: usize = 100;
const LONGEST: usize = 10;

impl Record {
    /// The record of these events, which came from `name`. `doubt`: why they show nothing, if that is so.
    pub fn of_reported(name: &str, events: &JudgedEvents, doubt: Option<String>) -> Self {
        let (reported, load) = (&events.reported, &events.reported.load);
        let scenario = scenario(name, events);
        let arms = scenario.arms.iter().map(|spec| arm(spec, events, doubt.clone()));
        Self {
            format: Self::FORMAT,
            lockstorm: env!("CARGO_PKG_VERSION").to_owned(),
            started: humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
            second_zero: None,
            arms: arms.collect(),
            scenario_toml: String::new(),
            seed: scenario.seed,
            machine: Machine::this(),
            nodes: Vec::new(),
            timeouts: Timeouts {
                connect: Duration::ZERO,
                cache: Duration::ZERO,
            },
            elapsed: load.elapsed().as_secs_f64(),
            interrupted: false,
            inconclusive: doubt.into_iter().collect(),
            partial: Vec::new(),
            round_trips: Vec::new(),
            expectations: Vec::new(),
            events: Vec::new(),
            warnings: reported.late.clone(),
            scenario,
        }
    }
}

fn scenario(name: &str, events: &JudgedEvents) -> Scenario {
    let source = Source {
        name: name.to_owned(),
        text: REST.to_owned(),
    };
    // The text is fixed, and a test reads it.
    let rest = parse(&source, &Overrides::default()).expect("it is a scenario");
    let reported = &events.reported;
    let mut all = Scenario {
        title: format!("What {} tells of its locks", printable(name)),
        duration: reported.load.elapsed(),
        seed: 0,
        lab: LabSpec::of(0),
        workload: WorkloadSpec::Reported(ReportedSpec {
            events: reported.events as u64,
            locks: reported.keys as u64,
            clients: reported.clients.len() as u64,
            second_zero_ns: reported.load.span[0],
        }),
        ..rest
    };
    (all.swarm.servers, all.swarm.workers) = (0, 0);
    for arm in &mut all.arms {
        arm.lock = LockKind::Reported;
    }
    all
}

fn arm(spec: &ArmSpec, events: &JudgedEvents, doubt: Option<String>) -> ArmRecord {
    let mut load = events.reported.load.clone();
    let mut found: Vec<&PastDouble> = events.double_holds.iter().collect();
    found.sort_by_key(|double| double.second_relied[0]);
    for double in &found {
        let [from, until] = double.overlap();
        load.sums.record(Time::Overlap, length([from, until]));
        let second = load.second(from);
        if let Some(point) = load.point(second) {
            point.double_holds += 1;
        }
    }
    for at in &events.double_uses {
        let second = load.second(*at);
        if let Some(point) = load.point(second) {
            point.double_uses += 1;
        }
    }
    ArmRecord {
        doubt,
        figures: figures(&load, events, &found),
        histograms: load.sums.histograms(),
        evidence: evidence(&found, &events.reported),
        series: load.series,
        ..ArmRecord::of(spec)
    }
}

fn figures(load: &Load, events: &JudgedEvents, found: &[&PastDouble]) -> Figures {
    let (sums, reported) = (&load.sums, &events.reported);
    let mut figures = Figures {
        counts: sums.counts,
        outcomes: sums.outcomes,
        acquire_us: Quantiles::of(&sums.acquires()),
        offered: sums.counts[Count::Begun],
        unfinished: sums.counts[Count::Begun].saturating_sub(sums.counts[Count::Completed]),
        answered: sums.counts.answered(),
        double_holds: found.len() as u64,
        double_uses: events.double_uses.len() as u64,
        unguarded: reported.is_used.then(|| events.unguarded()),
        first_double_hold_us: found
            .first()
            .map(|double| micros(double.second_relied[0], load.span[0])),
        outages: reported.unavailable_ns.map(|_| reported.outage).into_iter().collect(),
        ..Figures::default()
    };
    for time in Time::VARIANTS {
        figures.times[*time] = sums.durations(*time).quantiles();
    }
    let seconds = load.elapsed().as_secs_f64();
    if seconds > 0.0 {
        figures.throughput = figures.answered as f64 / seconds;
    }
    figures
}

/// The evidence of double holds, which are in the order in which they began.
fn evidence(found: &[&PastDouble], reported: &Reported) -> Vec<DoubleHold> {
    let belief = |holder: Holder, [from, until]: [i64; 2]| Belief {
        holder,
        name: reported.clients.get(holder.server - 1).cloned(),
        token: String::new(),
        asked_us: None,
        from_us: micros(from, reported.load.span[0]),
        until_us: Some(micros(until, reported.load.span[0])),
        relied_until_us: Some(micros(until, reported.load.span[0])),
        votes: Vec::new(),
        nodes: 0,
        sale: None,
    };
    let mut longest: Vec<usize> = (0..found.len()).collect();
    longest.sort_by_key(|place| std::cmp::Reverse(length(found[*place].overlap())));
    let mut kept: Vec<usize> = (0..found.len().min(FIRST)).collect();
    kept.extend(longest.into_iter().take(LONGEST));
    kept.sort_unstable();
    kept.dedup();
    let told = |place: usize| {
        let double = found[place];
        DoubleHold {
            number: place as u64 + 1,
            key: double.key.clone(),
            first: belief(double.first, double.first_relied),
            second: belief(double.second, double.second_relied),
            overlap_us: u64::try_from(length(double.overlap()).as_micros()).ok(),
            lost: Vec::new(),
            ruling: None,
        }
    };
    kept.into_iter().map(told).collect()
}

const fn length([from, until]: [i64; 2]) -> Duration {
    Duration::from_nanos(until.saturating_sub(from).cast_unsigned())
}

const fn micros(t: i64, zero: i64) -> i64 {
    t.saturating_sub(zero) / 1000
}
