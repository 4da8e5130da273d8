use super::record::{ArmRecord, Verdict};
use crate::model::Held;
use crate::scenario::{Expectation, Metric, Op, Scenario, Unit, WorkloadSpec};

/// What a run must have been for its figures to prove something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Course {
    /// Whether every scheduled fault took effect.
    pub causes: bool,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Whether the host's wall clock stepped, by which keys expire.
    pub clock_stepped: bool,
}

/// Holds the scenario's expectations against the arms' figures.
pub(super) fn verdicts(scenario: &Scenario, arms: &[ArmRecord], course: Course) -> Vec<Verdict> {
    scenario
        .expect
        .iter()
        .filter_map(|expectation| {
            let arm = arms.iter().find(|arm| arm.name == expectation.arm)?;
            Some(verdict(scenario, expectation, arm, course))
        })
        .collect()
}

fn verdict(scenario: &Scenario, expectation: &Expectation, arm: &ArmRecord, course: Course) -> Verdict {
    let value = arm.figures.get(expectation.metric);
    let held = expectation.op.holds(value, expectation.bound);
    let name = format!("{}.{}", expectation.arm, expectation.metric.name());
    let shown = show(expectation.metric, value);
    let (result, why) = match doubt(scenario, expectation, arm, held, course) {
        Some(why) => (Held::Inconclusive, format!("; but {why}")),
        None if held => (Held::Yes, String::new()),
        None => (Held::No, String::new()),
    };
    let text = format!("{name} is {shown}, expected {}{why}", expectation.text);
    Verdict {
        expectation: format!("{name} {}", expectation.text),
        value,
        result,
        text,
    }
}

/// Why the figure proves nothing either way, if so.
fn doubt(
    scenario: &Scenario,
    expectation: &Expectation,
    arm: &ArmRecord,
    held: bool,
    course: Course,
) -> Option<&'static str> {
    // A bound from above that is broken stays broken; one from below may yet be reached.
    let from_above = matches!(expectation.op, Op::Equal | Op::Less | Op::AtMost);
    let proven = (!held && from_above) || (held && !from_above);
    if course.clock_stepped {
        Some("the host's clock stepped, so it proves nothing")
    } else if !course.causes && (held || !from_above) {
        Some("a fault of the scenario did not take effect, so it proves nothing")
    } else if course.interrupted && !proven {
        Some("the run was stopped before its end")
    } else if held && could_not_show(scenario, expectation, arm) {
        Some("the stock did not sell out, so overselling could not show")
    } else {
        None
    }
}

/// "Nothing was oversold" says nothing while units are left.
fn could_not_show(scenario: &Scenario, expectation: &Expectation, arm: &ArmRecord) -> bool {
    let excludes = matches!(expectation.op, Op::Equal | Op::Less | Op::AtMost);
    matches!(scenario.workload, WorkloadSpec::Inventory(_))
        && expectation.metric == Metric::Oversold
        && excludes
        && !arm.sold_out_all
        && arm.figures.lost_updates > 0
}

/// A figure with its unit.
fn show(metric: Metric, value: f64) -> String {
    match metric.unit() {
        Unit::Micros => format!("{:.2}ms", value / 1e3),
        Unit::PerSecond => format!("{value:.1}/s"),
        Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
        Unit::Count => format!("{value:.2}"),
    }
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

    fn result(oversold: u64, lost_updates: u64, sold_out_all: bool, course: Course) -> Held {
        let figures = Figures {
            oversold,
            lost_updates,
            ..Figures::default()
        };
        let (name, lock) = ("redlock".to_owned(), String::new());
        let arm = ArmRecord {
            name,
            lock,
            ttl_ms: 1.0,
            sold_out_all,
            figures,
            series: Series::default(),
            after_end: Point::default(),
            first_error: None,
        };
        verdicts(&scenario(), &[arm], course)[0].result
    }

    #[test]
    fn a_zero_counts_only_if_something_else_could_have_shown() {
        let whole = Course {
            causes: true,
            interrupted: false,
            clock_stepped: false,
        };
        let no_fault = Course { causes: false, ..whole };
        let stopped = Course {
            interrupted: true,
            ..whole
        };
        let stepped = Course {
            clock_stepped: true,
            ..whole
        };
        assert_eq!(
            result(3, 3, true, stepped),
            Held::Inconclusive,
            "keys expired by a wrong clock"
        );
        assert_eq!(result(0, 0, true, whole), Held::Yes);
        assert_eq!(result(3, 3, true, whole), Held::No);
        assert_eq!(
            result(0, 2, false, whole),
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
}
