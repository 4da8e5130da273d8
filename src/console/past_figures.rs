//! The figures of an arm at an instant, as far as its record knows them.

use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::history::Ruling;
use lockstorm_data::metrics::{Consequence, ConsequenceKind, Entries, Figures, Metric, Outage, Point, Series, units};
use lockstorm_run::ArmRecord;

/// What was counted in these seconds, and what began until then; at the end the figures of the record. Times, votes and what else the
/// record has only in total are empty before.
pub(super) fn figures(arm: &ArmRecord, seconds: &Series, events: &[Event], until: f64) -> Figures {
    let total = &arm.figures;
    if until.is_infinite() {
        return total.clone();
    }
    let at_us = until * 1e6;
    let consequences: Vec<Consequence> = told(&total.consequences, events, until).collect();
    let by_old_master = consequences.iter().map(|one| match one.kind {
        ConsequenceKind::GrantedByOldMaster { locks } => locks,
        _ => 0,
    });
    let mut figures = Figures {
        lacks_entered: total.lacks_entered,
        lacks_write: total.lacks_write,
        finish: total.finish.filter(|at| *at <= until),
        first_lost_at: total.first_lost_at.filter(|at| *at <= until),
        first_double_hold_us: total.first_double_hold_us.filter(|at| *at as f64 <= at_us),
        outages: total
            .outages
            .iter()
            .filter_map(|outage| so_far(*outage, until))
            .collect(),
        granted_by_old_master: by_old_master.sum(),
        consequences,
        ..Figures::default()
    };
    let mut booked = Entries::default();
    for point in seconds.iter().filter(|point| point.time >= 0) {
        figures.counts.add(&point.counts);
        figures.outcomes.add(&point.outcomes);
        figures.offered += point.offered;
        figures.answered += point.answered;
        booked.add(&point.ledger);
        figures.double_holds += point.double_holds;
        figures.double_uses += point.double_uses;
        figures.refused_seconds += u64::from(point.is_refused());
    }
    figures.ledger = total.ledger.until(&booked, figures.first_lost_at.is_some());
    // In the first second nothing is known to be answered.
    figures.throughput = figures.answered as f64 / until.floor().max(1.0);
    let begun = || {
        arm.evidence
            .iter()
            .filter(|double| double.second.from_us as f64 <= at_us)
    };
    let ruled = |ruling| begun().filter(|double| double.ruling == Some(ruling)).count() as u64;
    let shown = (begun().count() as u64).max(u64::from(figures.first_double_hold_us.is_some()));
    figures.double_holds = figures.double_holds.max(shown);
    figures.law_violations = ruled(Ruling::Violation);
    figures.expired_holds = ruled(Ruling::Expired);
    figures.deleted = ruled(Ruling::Deleted);
    figures.unjudged = ruled(Ruling::Unknown);
    figures
}

/// Damage of which only the total is known.
pub(super) fn known_at_end(total: &Figures) -> Option<Metric> {
    let is_hidden = |metric: &Metric| match metric {
        Metric::LawViolations => false,
        other => Point::default().of(other.headline().unwrap_or(*other)).is_none(),
    };
    Metric::proven(total).find(is_hidden)
}

/// What had come of the faults. How many locks an old master has granted is known once it does so no more.
fn told(all: &[Consequence], events: &[Event], until: f64) -> impl Iterator<Item = Consequence> {
    let is_over = |since: f64| {
        let mut after = events.iter().filter(|event| event.at > since);
        after.any(|event| matches!(event.kind, EventKind::Demoted { .. }))
    };
    let is_told = move |one: &&Consequence| match one.kind {
        ConsequenceKind::GrantedByOldMaster { .. } => is_over(one.at),
        _ => one.at <= until,
    };
    all.iter().filter(is_told).cloned()
}

/// An outage as it was then: it may not have been over.
fn so_far(outage: Outage, until: f64) -> Option<Outage> {
    let lasted_us = units::rounded((until - outage.at) * 1e6);
    let is_on = lasted_us < outage.lasted_us;
    (outage.at <= until).then_some(Outage {
        lasted_us: lasted_us.min(outage.lasted_us),
        over: outage.over && !is_on,
        ..outage
    })
}
