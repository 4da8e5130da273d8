//! The columns about the locks, and about the sections under them.

use super::arm::Arm;
use super::judged::{judge, marked, sign, written};
use crate::report::figures::percent;
use crate::report::paint::Tone;
use crate::report::table::Cell;
use lockstorm_data::metrics::Column::{AttemptsPerAcquire, Figure, VotesAtRelease, VotesInTheEnd};
use lockstorm_data::metrics::Shown::{self, Always, IfAny};
use lockstorm_data::metrics::{Count, Group, Metric};

/// The columns about the locks.
pub(crate) const LOCKS: &[Shown] = &[
    Always(Figure(Metric::AcquireP50)),
    Always(Figure(Metric::AcquireP99)),
    Always(Figure(Metric::AcquireMax)),
    IfAny(Figure(Metric::PipeP50)),
    IfAny(Figure(Metric::PipeP99)),
    Always(Figure(Metric::Acquired)),
    Always(Figure(Metric::Contended)),
    IfAny(Figure(Metric::ContendedP99)),
    Always(Figure(Metric::NoQuorum)),
    IfAny(Figure(Metric::NoQuorumP99)),
    IfAny(Figure(Metric::Expired)),
    IfAny(Figure(Metric::Unknown)),
    IfAny(Figure(Metric::RefusedSeconds)),
    IfAny(Figure(Metric::UnavailableMs)),
    IfAny(Figure(Metric::AllUnavailableMs)),
    IfAny(Figure(Metric::UnavailableLocks)),
    IfAny(Figure(Metric::GrantedByOldMaster)),
    IfAny(Figure(Metric::LostAtFailover)),
    IfAny(Figure(Metric::Orphaned)),
    IfAny(Figure(Metric::Takeovers)),
    IfAny(Figure(Metric::TakeoverP50)),
    IfAny(Figure(Metric::TakeoverMax)),
    IfAny(Figure(Metric::Stuck)),
    Always(AttemptsPerAcquire),
];

/// The columns about the sections under the locks.
pub(crate) const SECTIONS: &[Shown] = &[
    Always(VotesAtRelease),
    Always(VotesInTheEnd),
    Always(Figure(Metric::HoldP99)),
    IfAny(Figure(Metric::LocksLost)),
    Always(Figure(Metric::Overran)),
    IfAny(Figure(Metric::LateWrites)),
    IfAny(Figure(Metric::Stalled)),
    IfAny(Figure(Metric::Aborted)),
    IfAny(Figure(Metric::CutOff)),
];

/// The columns about holds that overlap.
pub(crate) const HOLDS: &[Shown] = &[
    Always(Figure(Metric::DoubleUses)),
    Always(Figure(Metric::DoubleHolds)),
    IfAny(Figure(Metric::FirstDoubleHold)),
    IfAny(Figure(Metric::OverlapP50)),
    IfAny(Figure(Metric::OverlapMax)),
    Always(Figure(Metric::LawViolations)),
    IfAny(Figure(Metric::ExpiredHolds)),
    IfAny(Figure(Metric::Deleted)),
    IfAny(Figure(Metric::Unjudged)),
    IfAny(Figure(Metric::Covered)),
    IfAny(Figure(Metric::ZombieKeys)),
];

pub(super) fn attempts_per_acquire(arm: &Arm<'_>) -> Option<Cell> {
    let acquires = arm.figures.outcomes.total();
    // What another program tries is not known.
    (arm.nodes > 0 && acquires > 0 && !arm.has(Group::Clients))
        .then(|| Cell::plain(format!("{:.1}", arm.figures.attempts as f64 / acquires as f64)))
}

/// Sections that outlasted their validity, with their share of those that had work.
pub(super) fn overran(arm: &Arm<'_>) -> Option<Cell> {
    let (overran, sections) = (arm.figures.counts[Count::Overran], arm.figures.sections());
    if written(Metric::Overran, arm).is_none() || sections == 0 {
        return None;
    }
    let tone = if overran == 0 { Tone::Plain } else { Tone::Doubt };
    Some(Cell::new(tone, share(arm, overran, sections)))
}

/// Double holds, with their share of the acquired locks.
pub(super) fn double_holds(arm: &Arm<'_>) -> Option<Cell> {
    let (found, acquired) = (arm.figures.double_holds, arm.figures.outcomes.acquired);
    let text = written(Metric::DoubleHolds, arm)?;
    let text = match arm.is_narrow || acquired == 0 {
        true => text,
        false => share(arm, found, acquired),
    };
    Some(marked(sign(judge(Metric::DoubleHolds, arm)), text, arm.is_narrow))
}

/// A count with its share of `all`.
fn share(arm: &Arm<'_>, count: u64, all: u64) -> String {
    match (count, none_of(all)) {
        (0, None) => "0".to_owned(),
        (0, Some(bound)) => format!("0 {bound}"),
        _ => format!("{} ({})", arm.count(count), percent(count as f64 / all as f64)),
    }
}

/// What none in so many means: fewer than 3 in them (the rule of three, at 95 % confidence).
pub(in crate::report) fn none_of(all: u64) -> Option<String> {
    (all >= 30).then(|| format!("(< {})", percent(3.0 / all as f64)))
}

/// The mean number of votes that locks were held with, out of all nodes: `3/3`, `2.4/3`.
pub(super) fn votes(arm: &Arm<'_>, counts: &[u64]) -> Option<Cell> {
    // A record that another program wrote may have any counts.
    let acquired: u128 = counts.iter().copied().map(u128::from).sum();
    if arm.nodes == 0 || acquired == 0 {
        return None;
    }
    let votes: u128 = counts
        .iter()
        .zip(0..)
        .map(|(count, votes): (&u64, u128)| u128::from(*count) * votes)
        .sum();
    if votes == acquired * arm.nodes as u128 {
        return Some(Cell::plain(format!("{0}/{0}", arm.nodes)));
    }
    // Rounded down, so that full votes are shown only if every acquire had them.
    let mean = (votes as f64 / acquired as f64 * 10.0).floor() / 10.0;
    Some(Cell::plain(format!("{mean:.1}/{}", arm.nodes)))
}

pub(super) fn votes_now(arm: &Arm<'_>) -> Option<Cell> {
    let (votes, nodes) = arm.now?.votes?;
    let tone = if votes < nodes { Tone::Doubt } else { Tone::Plain };
    Some(Cell::new(tone, format!("{votes}/{nodes}")))
}
