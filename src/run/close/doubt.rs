//! Why a run, or one arm of it, can prove nothing good, no matter what its figures are.

use super::flaws::{Doubt, Flaws, Leaves};
use crate::collect::arm::Arm;
use lockstorm_data::facts::Caveat;
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::metrics::{Count, Figures, Metric};
use lockstorm_data::scenario::{Expectation, Scenario};

/// If more than one request in this many failed, the others don't stand for all.
const FEW: u64 = 100;

/// If more than one request in this many was never begun, the load was another one than the scenario asks for.
const MANY: u64 = 10;

/// Whether an expectation of the scenario is about this figure of this arm.
fn is_expected(name: &str, metric: Metric, expect: &[Expectation]) -> bool {
    let is_it = |expectation: &Expectation| expectation.arm == name && expectation.metric == metric;
    expect.iter().any(is_it)
}

/// Why an arm's figures don't stand for all its requests: too many failed, and no expectation of the scenario is about
/// that.
fn failures(name: &str, figures: &Figures, first: Option<&str>, expect: &[Expectation]) -> Option<Caveat> {
    let many = figures.counts[Count::Errors].saturating_mul(FEW) > figures.counts[Count::Completed];
    let is_doubt = many && figures.counts[Count::Errors] > 0 && !is_expected(name, Metric::Errors, expect);
    is_doubt.then(|| failed(name, figures, first))
}

/// That more than 1 % of an arm's requests found no free worker, or still waited at the end of the run.
pub fn rate_not_kept(name: &str, figures: &Figures) -> Option<Caveat> {
    let Figures {
        never_begun, offered, ..
    } = *figures;
    let waiting = figures.waiting();
    let missing = never_begun.saturating_add(waiting);
    (missing.saturating_mul(FEW) > offered).then(|| Caveat::RateNotKept {
        arm: name.to_owned(),
        never_begun,
        waiting,
        offered,
        ended: figures.counts[Count::Completed],
    })
}

/// Why the figures of an arm whose load has ended are those of another load: more than 10 % of the requests were never begun, and no
/// expectation of the scenario is about that.
pub(crate) fn other_load(name: &str, figures: &Figures, expect: &[Expectation]) -> Option<Doubt> {
    let many = figures.never_begun.saturating_mul(MANY) > figures.offered;
    let why = rate_not_kept(name, figures).filter(|_| many && !is_expected(name, Metric::NeverBegun, expect))?;
    // Too much of something under less load is too much under more.
    Some(Doubt::new(Leaves::Excess, why))
}

/// Why damage in an arm does not speak against its lock: this machine may have done all of it, or a stop of this program.
fn by_stalls(name: &str, figures: &Figures, is_stopped: bool) -> Option<Caveat> {
    let done = Metric::proven(figures).find(|metric| metric.by_stalls(figures) >= metric.of(figures))?;
    Some(Caveat::DamageByStalls {
        arm: name.to_owned(),
        sections: figures.counts[Count::Stalled],
        figure: done,
        up_to: rounded(done.by_stalls(figures)),
        is_stopped,
    })
}

/// How many requests of an arm failed, with the error of the first.
pub(crate) fn failed(name: &str, figures: &Figures, first: Option<&str>) -> Caveat {
    Caveat::RequestsFailed {
        arm: name.to_owned(),
        failed: figures.counts[Count::Errors],
        of: figures.counts[Count::Completed],
        quoted: first.map(str::to_owned),
    }
}

/// Why it is not known how the locks bear faults: the scenario has some, and none of them has tested any lock.
pub(crate) fn untested<'a>(scenario: &Scenario, arms: impl Iterator<Item = &'a Figures>) -> Option<Doubt> {
    let is_so = scenario.is_untested(arms);
    is_so.then_some(Doubt::new(Leaves::AllButSafety, Caveat::Untested))
}

/// Everything that casts doubt on an arm with these figures, of the whole run first.
pub(crate) fn all(flaws: &Flaws, arm: &Arm, figures: &Figures, expect: &[Expectation]) -> Vec<Doubt> {
    let name = &arm.spec.name;
    let first = arm.collector.first_error.as_deref();
    let own = arm.doubts.iter().cloned();
    let own = own.chain(failures(name, figures, first, expect));
    let mut doubts = flaws.doubts();
    doubts.extend(own.map(|why| Doubt::new(Leaves::Damage, why)));
    doubts.extend(by_stalls(name, figures, flaws.is_stopped).map(|why| Doubt::new(Leaves::All, why)));
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::Entry;
    use lockstorm_data::scenario::Op;

    #[test]
    fn a_machine_that_holds_sections_up_is_too_busy_if_that_did_damage() {
        let figures = |stalled, lost, lost_by_stalls| Figures {
            counts: [(Count::Stalled, stalled)].into(),
            ledger: [(Entry::LostUpdates, lost), (Entry::LostUpdatesPeak, lost)].into(),
            lost_by_stalls,
            ..Figures::default()
        };
        assert_eq!(by_stalls("redlock", &figures(2, 0, 2), false), None, "nothing was lost");
        assert_eq!(by_stalls("redlock", &figures(0, 3, 0), false), None, "the lock lost it");
        assert_eq!(
            by_stalls("redlock", &figures(2, 5, 4), false),
            None,
            "the lock lost one of them"
        );
        assert_eq!(
            by_stalls("redlock", &figures(2, 3, 4), false)
                .map(|caveat| caveat.to_string())
                .as_deref(),
            Some(
                "redlock: 2 sections outlasted their lock because this machine stalled them; this may explain up to 3 of its lost updates: it \
                 is too busy for a verdict"
            )
        );
        let stopped = by_stalls("redlock", &figures(2, 3, 4), true)
            .expect("it is in doubt")
            .to_string();
        assert!(
            stopped.contains("a stop of this program stalled them") && !stopped.contains("busy"),
            "{stopped}"
        );
    }

    #[test]
    fn a_rate_that_was_not_kept_is_told_from_one_percent_on_and_is_a_doubt_from_ten_unless_it_is_expected() {
        let figures = |never_begun| Figures {
            counts: [(Count::Completed, 1_000 - never_begun)].into(),
            offered: 1_000,
            never_begun,
            ..Figures::default()
        };
        let doubt = |never_begun, expect: &[Expectation]| other_load("single", &figures(never_begun), expect);
        assert_eq!(rate_not_kept("single", &figures(10)), None);
        assert_eq!(
            rate_not_kept("single", &figures(11))
                .map(|caveat| caveat.to_string())
                .as_deref(),
            Some(
                "single: 11 of 1,000 requests (1.1 %) were due and never begun, since no worker was free: times and percentiles cover only \
                 the 989 that ended. Lower the rate, or add workers"
            )
        );
        assert_eq!(doubt(100, &[]), None);
        assert_eq!(doubt(101, &[]).map(|doubt| doubt.leaves), Some(Leaves::Excess));
        let mut expected = Expectation {
            arm: "single".to_owned(),
            metric: Metric::NeverBegun,
            op: Op::Greater,
            bound: 50.0,
            text: "> 50".to_owned(),
        };
        assert_eq!(doubt(900, &[expected.clone()]), None);
        expected.metric = Metric::Offered;
        assert!(doubt(900, &[expected]).is_some());
        assert_eq!(rate_not_kept("single", &Figures::default()), None);
        // Those that had not ended when the run did are not among the times either.
        let open = Figures {
            unfinished: 101,
            never_begun: 0,
            ..figures(101)
        };
        let why = "single: 101 of 1,000 requests (10 %) still waited at the end of the run: times and percentiles cover only the 899 that ended";
        assert_eq!(
            rate_not_kept("single", &open)
                .map(|caveat| caveat.to_string())
                .as_deref(),
            Some(why)
        );
        // The load was the one that was asked for.
        assert_eq!(other_load("single", &open, &[]), None);
    }

    #[test]
    fn more_than_one_failure_in_a_hundred_is_a_doubt_unless_failures_are_expected() {
        let figures = |errors| Figures {
            counts: [(Count::Completed, 1_000), (Count::Errors, errors)].into(),
            ..Figures::default()
        };
        let doubt = |errors, expect: &[Expectation]| failures("none", &figures(errors), Some("disk full"), expect);
        assert_eq!(doubt(0, &[]), None);
        assert_eq!(doubt(10, &[]), None);
        assert_eq!(
            doubt(11, &[]).map(|caveat| caveat.to_string()).as_deref(),
            Some("none: 11 of 1,000 requests failed, the first: disk full")
        );
        let mut expected = Expectation {
            arm: "none".to_owned(),
            metric: Metric::Errors,
            op: Op::Less,
            bound: 500.0,
            text: "< 500".to_owned(),
        };
        assert_eq!(doubt(11, &[expected.clone()]), None);
        expected.arm = "other".to_owned();
        assert!(doubt(11, &[expected]).is_some());
        assert_eq!(failures("none", &Figures::default(), None, &[]), None);
    }
}
