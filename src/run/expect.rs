use super::record::{ArmRecord, Verdict};
use crate::metrics::units::figure;
use crate::model::Held;
use crate::scenario::{Expectation, Metric, Op, Scenario, WorkloadSpec};

/// What a run must have been for its figures to prove something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Course<'a> {
    /// What was lost that the run can't do without.
    pub lost: Option<&'a str>,
    /// Why a scheduled fault took no effect.
    pub unmet: Option<&'a str>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Whether the host's wall clock stepped, by which keys expire.
    pub clock_stepped: bool,
}

/// Holds the scenario's expectations against the arms' figures.
pub(super) fn verdicts(scenario: &Scenario, arms: &[ArmRecord], course: Course<'_>) -> Vec<Verdict> {
    scenario
        .expect
        .iter()
        .filter_map(|expectation| {
            let arm = arms.iter().find(|arm| arm.name == expectation.arm)?;
            Some(verdict(scenario, expectation, arm, course))
        })
        .collect()
}

fn verdict(scenario: &Scenario, expectation: &Expectation, arm: &ArmRecord, course: Course<'_>) -> Verdict {
    let value = arm.figures.get(judged(expectation));
    let held = expectation.op.holds(value, expectation.bound);
    let name = format!("{}.{}", expectation.arm, expectation.metric.name());
    let (shown, bound) = (
        figure(expectation.metric, value),
        figure(expectation.metric, expectation.bound),
    );
    let (result, why) = match doubt(scenario, expectation, arm, held, course) {
        Some(why) => (Held::Inconclusive, format!("; but {why}")),
        None if held => (Held::Yes, String::new()),
        None => (Held::No, String::new()),
    };
    let text = format!(
        "{}: {} {shown} (expected {} {bound}){why}",
        expectation.arm,
        expectation.metric.name().replace('_', " "),
        expectation.op.sign(),
    );
    Verdict {
        expectation: format!("{name} {}", expectation.text),
        value,
        result,
        text,
    }
}

/// The figure that an expectation is held against. Lost updates that were made up for later were lost all the same: a bound
/// from above is held against their peak.
const fn judged(expectation: &Expectation) -> Metric {
    match (expectation.metric, expectation.op) {
        (Metric::LostUpdates, Op::Equal | Op::Less | Op::AtMost) => Metric::LostUpdatesPeak,
        (metric, _) => metric,
    }
}

/// Why the figure proves nothing either way, if so.
fn doubt(
    scenario: &Scenario,
    expectation: &Expectation,
    arm: &ArmRecord,
    held: bool,
    course: Course<'_>,
) -> Option<String> {
    // A bound from above that is broken stays broken; one from below may yet be reached.
    let from_above = matches!(expectation.op, Op::Equal | Op::Less | Op::AtMost);
    let proven = (!held && from_above) || (held && !from_above);
    // Damage is read from the books and stays damage, whatever is lost or fails later.
    let damage = !held && from_above && is_damage(expectation.metric);
    if course.clock_stepped {
        Some("the host's clock stepped, so it proves nothing".to_owned())
    } else if let (Some(lost), false) = (course.lost, damage) {
        Some(lost.to_owned())
    } else if let (Some(unmet), true) = (course.unmet, held || !from_above) {
        Some(unmet.to_owned())
    } else if let (Some(doubt), false, None) = (&arm.doubt, damage, course.unmet) {
        Some(doubt.clone())
    } else if course.interrupted && !proven {
        Some("the run was stopped before its end".to_owned())
    } else if could_not_show(scenario, expectation, arm, held) {
        Some("oversold is not measurable until the stock is sold out".to_owned())
    } else {
        None
    }
}

/// Figures above zero that are proven damage.
const fn is_damage(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Oversold
            | Metric::LostUpdates
            | Metric::LostUpdatesPeak
            | Metric::DuplicatePages
            | Metric::MissingPages
    )
}

/// While units are left, "nothing was oversold" says nothing of an arm that lost updates, and "not enough was oversold"
/// says nothing if enough of them were lost: they would have shown once the stock was sold out.
#[allow(clippy::cast_precision_loss)] // counts beyond 2^53 do not occur in a run
fn could_not_show(scenario: &Scenario, expectation: &Expectation, arm: &ArmRecord, held: bool) -> bool {
    let from_above = matches!(expectation.op, Op::Equal | Op::Less | Op::AtMost);
    let lost = arm.figures.lost_updates_peak;
    let hidden = if from_above {
        held && lost > 0
    } else {
        !held && expectation.op.holds(lost as f64, expectation.bound)
    };
    matches!(scenario.workload, WorkloadSpec::Inventory(_))
        && expectation.metric == Metric::Oversold
        && !arm.sold_out_all
        && hidden
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Figures, Point, Series};
    use crate::scenario::{Overrides, Source, builtin, parse};

    fn scenario() -> Scenario {
        let builtin = builtin::find("flash-sale").expect("it is built in");
        let source = Source {
            name: builtin.name.to_owned(),
            text: builtin.text.to_owned(),
        };
        let mut scenario = parse(&source, &Overrides::default()).expect("it is valid");
        scenario.expect = vec![Expectation {
            arm: "redlock".to_owned(),
            metric: Metric::Oversold,
            op: Op::Equal,
            bound: 0.0,
            text: "== 0".to_owned(),
        }];
        scenario
    }

    fn judge(oversold: u64, lost_updates: u64, sold_out_all: bool, doubt: Option<&str>, course: Course<'_>) -> Verdict {
        let mut arm = record(doubt);
        arm.figures = Figures {
            oversold,
            lost_updates,
            lost_updates_peak: lost_updates,
            ..Figures::default()
        };
        arm.sold_out_all = sold_out_all;
        verdicts(&scenario(), &[arm], course).remove(0)
    }

    fn record(doubt: Option<&str>) -> ArmRecord {
        ArmRecord {
            name: "redlock".to_owned(),
            lock: String::new(),
            ttl_ms: 1.0,
            sold_out_all: false,
            doubt: doubt.map(str::to_owned),
            figures: Figures::default(),
            series: Series::default(),
            after_end: Point::default(),
            first_error: None,
        }
    }

    fn result(oversold: u64, lost_updates: u64, sold_out_all: bool, course: Course<'_>) -> Held {
        judge(oversold, lost_updates, sold_out_all, None, course).result
    }

    const WHOLE: Course<'static> = Course {
        lost: None,
        unmet: None,
        interrupted: false,
        clock_stepped: false,
    };

    #[test]
    fn a_zero_counts_only_if_something_else_could_have_shown() {
        let no_fault = Course {
            unmet: Some("fault 1 never fired"),
            ..WHOLE
        };
        let stopped = Course {
            interrupted: true,
            ..WHOLE
        };
        let stepped = Course {
            clock_stepped: true,
            ..WHOLE
        };
        assert_eq!(
            result(3, 3, true, stepped),
            Held::Inconclusive,
            "keys expired by a wrong clock"
        );
        assert_eq!(result(0, 0, true, WHOLE), Held::Yes);
        assert_eq!(result(3, 3, true, WHOLE), Held::No);
        assert_eq!(
            result(0, 2, false, WHOLE),
            Held::Inconclusive,
            "lost updates that unsold stock hides"
        );
        assert_eq!(
            result(0, 0, true, no_fault),
            Held::Inconclusive,
            "the fault never happened"
        );
        assert_eq!(
            result(0, 0, true, stopped),
            Held::Inconclusive,
            "it might have come later"
        );
        assert_eq!(result(3, 3, true, no_fault), Held::No, "damage is damage");
        assert_eq!(result(3, 3, true, stopped), Held::No);
    }

    #[test]
    fn too_little_oversold_is_no_failure_while_units_hide_it() {
        let judge = |oversold, lost_updates_peak, sold_out_all| {
            let mut scenario = scenario();
            let expectation = &mut scenario.expect[0];
            (expectation.op, expectation.bound) = (Op::AtLeast, 10.0);
            let mut arm = record(None);
            (arm.figures.oversold, arm.figures.lost_updates_peak) = (oversold, lost_updates_peak);
            arm.sold_out_all = sold_out_all;
            verdicts(&scenario, &[arm], WHOLE)[0].result
        };
        assert_eq!(judge(0, 39, false), Held::Inconclusive, "39 would have shown");
        assert_eq!(judge(0, 9, false), Held::No, "9 are too few anyway");
        assert_eq!(judge(9, 39, true), Held::No);
        assert_eq!(judge(10, 39, false), Held::Yes);
    }

    #[test]
    fn what_was_lost_or_failed_proves_nothing_but_damage() {
        let lost = Course {
            lost: Some("the cache node died"),
            ..WHOLE
        };
        assert_eq!(result(0, 0, true, lost), Held::Inconclusive);
        assert_eq!(result(3, 3, true, lost), Held::No, "the books say so");
        let failing = Some("redlock: 11 of 1,000 requests failed");
        assert_eq!(judge(0, 0, true, failing, WHOLE).result, Held::Inconclusive);
        assert_eq!(judge(3, 3, true, failing, WHOLE).result, Held::No);
    }

    #[test]
    fn a_verdict_says_figure_and_bound_alike() {
        let said = judge(1400, 1400, true, None, WHOLE).text;
        assert_eq!(said, "redlock: oversold 1,400 (expected = 0)");
        let unmet = Some("fault 1 never fired: single.holding reached 31 of 48");
        assert_eq!(
            judge(0, 0, true, None, Course { unmet, ..WHOLE }).text,
            "redlock: oversold 0 (expected = 0); but fault 1 never fired: single.holding reached 31 of 48"
        );
    }
}
