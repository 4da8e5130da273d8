//! Whether an expectation held, failed, or is inconclusive, by the figures of its arm and all doubts.

use lockstorm_data::facts::{Caveat, CheckedExpectation, NotProven};
use lockstorm_data::metrics::{Count, Evidence, Figures, Metric, Outage};
use lockstorm_data::model::CheckResult;
use lockstorm_data::scenario::{Expectation, Op};

use crate::doubt::{Compared, is_void, stands};

/// An outage may have lasted on if its last refusal is no longer than this before the end of the load, in seconds.
const LAST_REFUSAL: f64 = 1.0;

/// Compares an expectation with the figures of its arm. The load ended at `end`, in seconds.
pub(crate) fn check<'a>(
    expectation: &Expectation,
    figures: &Figures,
    doubts: impl Iterator<Item = &'a Caveat>,
    end: f64,
) -> CheckedExpectation {
    let value = expectation.judged().of(figures);
    let compared = Compared {
        expectation,
        value,
        is_kept: expectation.op.holds(value, expectation.bound),
        decided: expectation.decided(figures),
        met_fault: !figures.consequences.is_empty(),
    };
    let reason = doubted(compared, doubts)
        .or_else(|| not_measured(expectation, figures))
        .or_else(|| by_stalls(compared, figures))
        .or_else(|| could_not_show(compared, figures))
        .or_else(|| may_still_grow(compared, figures, end));
    CheckedExpectation {
        expectation: expectation.clone(),
        value: expectation.metric.is_known(figures).then_some(value),
        result: match reason {
            Some(_) => CheckResult::Inconclusive,
            None if compared.is_kept => CheckResult::Held,
            None => CheckResult::Failed,
        },
        reason,
    }
}

/// The first doubt that the result does not withstand.
fn doubted<'a>(compared: Compared<'_>, mut all: impl Iterator<Item = &'a Caveat>) -> Option<NotProven> {
    let doubt = all.find(|doubt| !stands(doubt, compared))?;
    Some(NotProven::Doubted {
        caveat: doubt.clone(),
        is_void: is_void(doubt),
    })
}

fn not_measured(expectation: &Expectation, figures: &Figures) -> Option<NotProven> {
    (!expectation.metric.is_known(figures)).then_some(NotProven::NothingToMeasure)
}

/// Whether the result is another one if the figure has one of these values.
fn could_change(compared: Compared<'_>, possible: [f64; 2]) -> bool {
    let Expectation { op, bound, .. } = compared.expectation;
    possible
        .into_iter()
        .any(|value| op.holds(value, *bound) != compared.is_kept)
}

/// What this machine did itself, by holding up sections until their lock had expired, says nothing about the lock: neither that it is
/// broken, nor that it broke as expected.
fn by_stalls(compared: Compared<'_>, figures: &Figures) -> Option<NotProven> {
    let judged = compared.expectation.judged();
    let (value, up_to) = (judged.of(figures), judged.by_stalls(figures));
    // Any part of the figure may be its work: none of it, all, or as much as would make the figure equal to the bound.
    let least = value - up_to;
    let possible = [least, compared.expectation.bound.max(least).min(value)];
    could_change(compared, possible).then_some(NotProven::ByStalls { up_to })
}

/// What had not ended, or is not known, may make the figure larger: if that could change the result, it is inconclusive.
fn may_still_grow(compared: Compared<'_>, figures: &Figures, end: f64) -> Option<NotProven> {
    let (metric, bound) = (compared.expectation.judged(), compared.expectation.bound);
    let is_open = |is_over: fn(&Outage) -> bool| {
        let lasts = |outage: &Outage| outage.at + outage.lasted_us as f64 / 1e6 > end - LAST_REFUSAL;
        figures.outages.iter().any(|outage| !is_over(outage) && lasts(outage))
    };
    let waiting = figures.waiting();
    let all = figures.counts[Count::Completed].saturating_add(waiting) as f64;
    let (more, why) = match metric {
        Metric::UnavailableMs if is_open(|outage| outage.over) => (f64::INFINITY, NotProven::StillUnavailable),
        Metric::AllUnavailableMs if is_open(|outage| outage.all_us == 0 || outage.all_over) => {
            (f64::INFINITY, NotProven::AllStillUnavailable)
        }
        Metric::Deleted | Metric::ExpiredHolds | Metric::LawViolations => {
            let double_holds = figures.unjudged;
            (double_holds as f64, NotProven::Unjudged { double_holds })
        }
        _ => match metric.share_beyond() {
            Some(share) if waiting as f64 > share * all => {
                (f64::INFINITY, NotProven::StillWaiting { requests: waiting })
            }
            _ => return None,
        },
    };
    let value = metric.of(figures);
    could_change(compared, [value + more, bound.clamp(value, value + more)]).then_some(why)
}

/// Some damage is visible only late: units are oversold once the stock is sold out. Until then a zero proves nothing if an earlier sign of
/// damage is there, or could not be visible either; and a missed lower bound proves nothing if the earlier sign reaches it. Without an
/// earlier sign a zero proves nothing until the damage could be visible.
fn could_not_show(compared: Compared<'_>, figures: &Figures) -> Option<NotProven> {
    let Compared {
        expectation, is_kept, ..
    } = compared;
    let Evidence { shows, before, .. } = expectation.metric.evidence()?;
    let is_upper = compared.is_from_above();
    let can_show = |metric: &Metric| metric.evidence().is_none_or(|evidence| (evidence.shows)(figures));
    let is_hidden = match before.map(|before| (before.peak().of(figures), can_show(&before))) {
        // Nothing was done that could have done damage.
        None => is_upper && is_kept,
        Some((before, can_show)) if is_upper => is_kept && (before > 0.0 || !can_show),
        Some((before, _)) => {
            let Expectation { op, bound, .. } = expectation;
            !is_kept && (op.holds(before, *bound) || *op == Op::Equal && before >= *bound)
        }
    };
    (is_hidden && !shows(figures)).then_some(NotProven::NotMeasurable)
}
