//! The record of what another program reported of its locks, so that reports, comparisons and the console can show it.
//!
//! Nobody here played a load or started a server: there are no nodes, no faults and no expectations, and what nobody has reported is
//! unknown.

use std::time::{Duration, SystemTime};

use super::record::{ArmRecord, Machine, Record, ReportedEvents, Timeouts};
use crate::oracle::past::PastDouble;
use crate::oracle::reported::JudgedEvents;
use lockstorm_data::facts::{Caveat, Event, EventKind, OrderedBy};
use lockstorm_data::history::{Belief, DoubleHold, Holder, Load, Removal, Reported};
use lockstorm_data::metrics::{Count, Figures, Quantiles, Time};
use lockstorm_data::model::{Action, Condition, Target, printable};
use lockstorm_data::scenario::{
    ArmSpec, LabSpec, LockKind, Overrides, ReportedSpec, Scenario, Source, WorkloadSpec, parse,
};
use lockstorm_lab::kept::Logged;
use strum::VariantArray;

/// The evidence is that of the first double holds, and of the longest.
const FIRST: usize = 100;
const LONGEST: usize = 10;

impl Record {
    /// The record of these events, which came from `source`, of a program with this name. `doubt`: why they show nothing, if that is so;
    /// `faults`: what was done meanwhile to the lab that it used, if that is known.
    pub fn of_reported(
        [name, source]: [&str; 2],
        events: &JudgedEvents,
        doubt: Option<Caveat>,
        faults: Option<&[Logged]>,
    ) -> Self {
        let (reported, load) = (&events.reported, &events.reported.load);
        let scenario = scenario(name);
        let found = in_order(events);
        let arms = scenario.arms.iter().map(|spec| {
            let mut arm = arm(spec, events, &found);
            arm.lock = printable(name);
            arm.figures.lacks = scenario.lacks(spec);
            arm
        });
        let untested = untested(faults, load.span);
        let late = reported.late.iter().cloned().map(|misuse| Caveat::Reported { misuse });
        Self {
            format: Self::FORMAT,
            lockstorm: env!("CARGO_PKG_VERSION").to_owned(),
            started: humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
            second_zero: None,
            arms: arms.collect(),
            // In this two programs differ.
            scenario_toml: format!("[[arm]]\nname = \"program\"\nlock = {:?}\n", printable(name)),
            seed: scenario.seed,
            machine: Machine::this(),
            nodes: Vec::new(),
            timeouts: Timeouts {
                connect: Duration::ZERO,
                cache: Duration::ZERO,
            },
            elapsed: load.elapsed().as_secs_f64(),
            interrupted: false,
            inconclusive: Vec::new(),
            partial: Vec::new(),
            round_trips: Vec::new(),
            processor_wait: None,
            processor_used_by_others: None,
            expectations: Vec::new(),
            reported: Some(ReportedEvents {
                source: printable(source),
                events: reported.events as u64,
                clients: reported.clients.len() as u64,
                locks: reported.keys as u64,
                second_zero_ns: load.span[0],
            }),
            events: happened(faults.unwrap_or_default(), found.first().copied(), reported),
            warnings: doubt.into_iter().chain(late).chain(untested).collect(),
            scenario,
        }
        .concluded()
    }
}

/// Why nothing is known of how the lock bears faults, if that is so.
fn untested(faults: Option<&[Logged]>, [from, until]: [i64; 2]) -> Option<Caveat> {
    let Some(faults) = faults else {
        return Some(Caveat::FaultsUnknown);
    };
    let span = from / 1000..=until / 1000;
    let is_within = |logged: &Logged| logged.deed().is_some() && logged.effect_us.is_some_and(|at| span.contains(&at));
    let entries = faults.len() as u64;
    (!faults.iter().any(is_within)).then_some(Caveat::FaultsOutside { entries })
}

/// The double holds in the order in which they began.
fn in_order(events: &JudgedEvents) -> Vec<&PastDouble> {
    let mut found: Vec<&PastDouble> = events.double_holds.iter().collect();
    found.sort_by_key(|double| double.second_relied[0]);
    found
}

/// What was done to the lab from the first event to the last one, and the first double hold.
fn happened(faults: &[Logged], first: Option<&PastDouble>, reported: &Reported) -> Vec<Event> {
    let [from, until] = reported.load.span;
    let seconds = |t: i64| t.saturating_sub(from) as f64 / 1e9;
    let mut all = Vec::new();
    for logged in faults {
        let Some(effect) = logged
            .effect_us
            .and_then(|at| at.checked_mul(1000))
            .filter(|at| *at <= until)
        else {
            continue;
        };
        let Some((action, target)) = logged.deed() else {
            // What somebody has written to a node by hand.
            if effect >= from {
                let quoted = printable(&logged.words);
                let caveat = Caveat::LabLog { quoted };
                all.push((seconds(effect), EventKind::Warning { caveat }));
            }
            continue;
        };
        let kind = EventKind::fault(action, target, OrderedBy::User, Some(seconds(effect)));
        all.push((seconds(logged.ordered_us.saturating_mul(1000)), kind));
    }
    if let Some(double) = first {
        let began = double.second_relied[0];
        let kind = EventKind::DoubleHold {
            arm: "program".to_owned(),
            began_us: began.saturating_sub(from).div_euclid(1000),
            holders: [double.first, double.second].map(|holder| printable(name_of(reported, holder))),
            key: printable(&double.key),
        };
        all.push((seconds(began), kind));
    }
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Of what was done before, only what lasted matters.
    let is_over = |place: usize| match &all[place].1 {
        EventKind::Fault {
            effect_at: Some(at), ..
        } if *at >= 0.0 => false,
        EventKind::Fault {
            action: Action::Undo(_),
            ..
        } => true,
        fault @ EventKind::Fault { .. } => all[place..].iter().any(|(_, later)| match later {
            EventKind::Fault {
                action: Action::Undo(undone),
                target,
                effect_at,
                ..
            } => effect_at.is_some_and(|at| at < 0.0) && brings(fault, *undone, *target),
            _ => false,
        }),
        _ => false,
    };
    let over: Vec<bool> = (0..all.len()).map(is_over).collect();
    let all = all
        .into_iter()
        .zip(over)
        .filter(|(_, is_over)| !is_over)
        .map(|(one, _)| one);
    let mut events: Vec<Event> = Vec::new();
    for (id, (at, mut kind)) in (0..).zip(all) {
        if let EventKind::Fault {
            action: Action::Undo(undone),
            target,
            ends,
            ..
        } = &mut kind
        {
            *ends = events
                .iter()
                .rev()
                .find(|event| brings(&event.kind, *undone, *target))
                .map(|event| event.id);
        }
        events.push(Event { id, at, kind });
    }
    events
}

/// Whether it is the fault that brought this about.
fn brings(kind: &EventKind, condition: Condition, whom: Target) -> bool {
    match *kind {
        EventKind::Fault {
            action: Action::Fault(fault),
            target,
            ..
        } => target == whom && fault.brings() == Some(condition),
        _ => false,
    }
}

fn name_of(reported: &Reported, holder: Holder) -> &str {
    reported.clients.get(holder.server - 1).map_or("", String::as_str)
}

fn scenario(name: &str) -> Scenario {
    // Its text is fixed, and tests read it.
    let rest = parse(&Source::bare(name), &Overrides::default()).expect("it is a scenario");
    let mut all = Scenario {
        name: printable(name),
        title: "What a program reported of its locks".to_owned(),
        // That is in the record: no two runs take as long.
        duration: Duration::ZERO,
        seed: 0,
        lab: LabSpec::of(0),
        workload: WorkloadSpec::Reported(ReportedSpec {}),
        ..rest
    };
    (all.swarm.servers, all.swarm.workers) = (0, 0);
    for arm in &mut all.arms {
        arm.lock = LockKind::Reported;
    }
    all
}

fn arm(spec: &ArmSpec, events: &JudgedEvents, found: &[&PastDouble]) -> ArmRecord {
    let mut load = events.reported.load.clone();
    for double in found {
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
        figures: figures(&load, events, found),
        histograms: load.sums.histograms(),
        evidence: evidence(found, events),
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
        unguarded: events.unguarded(),
        lacks_entered: reported.overran.is_none(),
        lacks_write: reported.late_writes.is_none(),
        first_double_hold_us: found
            .first()
            .map(|double| micros(double.second_relied[0], load.span[0])),
        // Only of locks that several clients have acquired an overlap can show.
        contested: reported.shared_keys as u64,
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
fn evidence(found: &[&PastDouble], events: &JudgedEvents) -> Vec<DoubleHold> {
    let reported = &events.reported;
    let belief = |holder: Holder, [from, until]: [i64; 2]| Belief {
        holder,
        name: Some(name_of(reported, holder).to_owned()),
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
            removed_by: events.overtaken(double).map(|(name, at)| Removal {
                holder: double.first,
                name: Some(name.to_owned()),
                at_us: micros(at, reported.load.span[0]),
            }),
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
