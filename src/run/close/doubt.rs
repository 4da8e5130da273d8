//! Why a run, or one arm of it, can prove nothing good, no matter what its figures are.

use super::flaws::{Doubt, Flaws, Leaves};
use crate::collect::arm::Arm;
use lockstorm_data::metrics::units::{count, counted};
use lockstorm_data::metrics::{Count, Figures, Metric, figure};
use lockstorm_data::scenario::{ArmSpec, Expectation, Scenario};

/// If more than one request in this many failed, the others don't stand for all.
const FEW: u64 = 100;

/// Why an arm's figures don't stand for all its requests: too many failed, and no expectation of the scenario is about
/// that.
fn failures(name: &str, figures: &Figures, first: Option<&str>, expect: &[Expectation]) -> Option<String> {
    let expected = expect
        .iter()
        .any(|expectation| expectation.arm == name && expectation.metric == Metric::Errors);
    let many = figures.counts[Count::Errors].saturating_mul(FEW) > figures.counts[Count::Completed];
    (many && figures.counts[Count::Errors] > 0 && !expected).then(|| failed(name, figures, first))
}

/// Why damage in an arm does not speak against its lock: this machine may have done all of it.
fn too_busy(name: &str, figures: &Figures) -> Option<String> {
    let done = Metric::proven(figures).find(|metric| metric.by_stalls(figures) >= metric.of(figures))?;
    let sections = counted(figures.counts[Count::Stalled], "section", "sections");
    Some(format!(
        "{name}: {sections} were held up by this machine until their lock had expired; up to {} of its {} come from that: it is \
         too busy for a verdict",
        figure(done, done.by_stalls(figures)),
        done.title(),
    ))
}

/// How many requests of an arm failed, with the error of the first.
pub(crate) fn failed(name: &str, figures: &Figures, first: Option<&str>) -> String {
    let of = counted(figures.counts[Count::Completed], "request", "requests");
    let first = first.map_or_else(String::new, |first| format!(", the first: {first}"));
    format!("{name}: {} of {of} failed{first}", count(figures.counts[Count::Errors]))
}

/// Why it is not known how an arm's lock bears faults, if the scenario has some for it.
pub(crate) fn untested(scenario: &Scenario, arm: &ArmSpec, figures: &Figures) -> Option<Doubt> {
    (scenario.is_to_test(arm) && figures.consequences.is_empty()).then(|| {
        let why = format!(
            "{}: no fault tested its lock: no held key was lost, no holder outlived its validity, and no acquire was refused or delayed; \
             let faults last longer, or sections (workload.hold)",
            arm.name
        );
        Doubt::new(Leaves::AllButSafety, why)
    })
}

/// Everything that casts doubt on an arm with these figures, of the whole run first.
pub(crate) fn all(flaws: &Flaws, arm: &Arm, figures: &Figures, expect: &[Expectation]) -> Vec<Doubt> {
    let name = &arm.spec.name;
    let first = arm.collector.first_error.as_deref();
    let own = arm.doubts.iter().cloned();
    let own = own
        .chain(failures(name, figures, first, expect))
        .chain(too_busy(name, figures));
    let mut doubts = flaws.doubts();
    doubts.extend(own.map(|why| Doubt::new(Leaves::Damage, why)));
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::scenario::Op;

    #[test]
    fn a_machine_that_holds_sections_up_is_too_busy_if_that_did_damage() {
        let figures = |stalled, lost, lost_by_stalls| Figures {
            counts: [(Count::Stalled, stalled)].into(),
            lost_updates: lost,
            lost_updates_peak: lost,
            lost_by_stalls,
            ..Figures::default()
        };
        assert_eq!(too_busy("redlock", &figures(2, 0, 2)), None, "nothing was lost");
        assert_eq!(too_busy("redlock", &figures(0, 3, 0)), None, "the lock lost it");
        assert_eq!(
            too_busy("redlock", &figures(2, 5, 4)),
            None,
            "the lock lost one of them"
        );
        assert_eq!(
            too_busy("redlock", &figures(2, 3, 4)).as_deref(),
            Some(
                "redlock: 2 sections were held up by this machine until their lock had expired; up to 3 of its lost updates come \
                 from that: it is too busy for a verdict"
            )
        );
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
            doubt(11, &[]).as_deref(),
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
