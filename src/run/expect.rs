use super::record::{ArmRecord, Verdict};
use crate::model::Held;
use crate::scenario::{Expectation, Metric, Op, Scenario, Unit, WorkloadSpec};

/// Holds the scenario's expectations against the arms' figures. `causes` says whether every scheduled fault took effect.
pub(super) fn verdicts(scenario: &Scenario, arms: &[ArmRecord], causes: bool) -> Vec<Verdict> {
    scenario
        .expect
        .iter()
        .filter_map(|expectation| {
            let arm = arms.iter().find(|arm| arm.name == expectation.arm)?;
            Some(verdict(scenario, expectation, arm, causes))
        })
        .collect()
}

fn verdict(scenario: &Scenario, expectation: &Expectation, arm: &ArmRecord, causes: bool) -> Verdict {
    let value = arm.figures.get(expectation.metric);
    let held = expectation.op.holds(value, expectation.bound);
    let name = format!("{}.{}", expectation.arm, expectation.metric.name());
    let shown = show(expectation.metric, value);
    let (result, why) = if !causes && !held {
        (Held::Inconclusive, "; a fault of the scenario did not take effect")
    } else if !causes && held {
        (
            Held::Inconclusive,
            "; but a fault of the scenario did not take effect, so it proves nothing",
        )
    } else if held && could_not_show(scenario, expectation, arm) {
        (
            Held::Inconclusive,
            "; but the stock did not sell out, so overselling could not show",
        )
    } else if held {
        (Held::Yes, "")
    } else {
        (Held::No, "")
    };
    let text = format!("{name} is {shown}, expected {}{why}", expectation.text);
    Verdict {
        expectation: format!("{name} {}", expectation.text),
        value,
        result,
        text,
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
    use crate::metrics::{Figures, Series};
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

    fn result(oversold: u64, lost_updates: u64, sold_out_all: bool, causes: bool) -> Held {
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
        };
        verdicts(&scenario(), &[arm], causes)[0].result
    }

    #[test]
    fn a_zero_counts_only_if_something_else_could_have_shown() {
        assert_eq!(result(0, 0, true, true), Held::Yes);
        assert_eq!(result(3, 3, true, true), Held::No);
        assert_eq!(
            result(0, 2, false, true),
            Held::Inconclusive,
            "lost updates that unsold stock hides"
        );
        assert_eq!(
            result(0, 0, true, false),
            Held::Inconclusive,
            "the fault never happened"
        );
    }
}
