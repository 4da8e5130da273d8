use super::record::{ArmRecord, CheckedExpectation};
use crate::metrics::{Alarm, Evidence};
use crate::model::CheckResult;
use crate::scenario::{Expectation, Scenario};

/// The circumstances in which a run's figures prove something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Circumstances<'a> {
    /// What the run needs and has lost.
    pub lost: Option<&'a str>,
    /// Why a scheduled fault had no effect.
    pub unmet: Option<&'a str>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// What makes every figure worthless.
    pub void: Option<&'a str>,
}

/// Compares the scenario's expectations with the arms' figures.
pub(super) fn check_all(
    scenario: &Scenario,
    arms: &[ArmRecord],
    circumstances: Circumstances<'_>,
) -> Vec<CheckedExpectation> {
    scenario
        .expect
        .iter()
        .filter_map(|expectation| {
            let arm = arms.iter().find(|arm| arm.name == expectation.arm)?;
            Some(check(expectation, arm, circumstances))
        })
        .collect()
}

fn check(expectation: &Expectation, arm: &ArmRecord, circumstances: Circumstances<'_>) -> CheckedExpectation {
    let value = expectation.judged().of(&arm.figures);
    let held = expectation.op.holds(value, expectation.bound);
    let name = format!("{}.{}", expectation.arm, expectation.metric.name());
    let (result, why) = match doubt(expectation, arm, held, circumstances) {
        Some(why) => (CheckResult::Inconclusive, format!("; but {why}")),
        None if held => (CheckResult::Held, String::new()),
        None => (CheckResult::Failed, String::new()),
    };
    let text = format!("{}{why}", expectation.in_words(&arm.figures));
    CheckedExpectation {
        expectation: format!("{name} {}", expectation.text),
        value,
        result,
        text,
    }
}

/// Why the figure proves nothing either way, if that is the case.
fn doubt(expectation: &Expectation, arm: &ArmRecord, held: bool, circumstances: Circumstances<'_>) -> Option<String> {
    let from_above = expectation.is_from_above();
    let decided = expectation.decided(&arm.figures);
    // Damage is read from the books and stays damage, no matter what is lost or fails later.
    let damage = decided == Some(false) && expectation.metric.is_damage();
    if let Some(void) = circumstances.void {
        Some(format!("{void}, so it proves nothing"))
    } else if let (Some(lost), false) = (circumstances.lost, damage) {
        Some(lost.to_owned())
    } else if let (Some(unmet), true) = (circumstances.unmet, held || !from_above) {
        Some(unmet.to_owned())
    } else if let (Some(doubt), false, None) = (&arm.doubt, damage, circumstances.unmet) {
        Some(doubt.clone())
    } else if circumstances.interrupted && decided.is_none() {
        Some("the run was stopped before its end".to_owned())
    } else if !expectation.metric.is_known(&arm.figures) {
        Some("there was nothing to measure".to_owned())
    } else {
        could_not_show(expectation, arm, held)
    }
}

/// Damage that shows only later, as overselling does once the stock is sold out. Until then "none" says nothing about an
/// arm with the damage that shows earlier, and "not enough" says nothing if there is enough of that. Damage without an earlier sign
/// shows as soon as anything is done: of an arm that did nothing, "none" says nothing.
fn could_not_show(expectation: &Expectation, arm: &ArmRecord, held: bool) -> Option<String> {
    let Alarm::Damage(Evidence { shows, until, before }) = expectation.metric.row().alarm else {
        return None;
    };
    let from_above = expectation.is_from_above();
    let before = before.map(|before| before.peak().of(&arm.figures));
    let is_hidden = match before {
        // Nothing was done that could have done damage.
        None => from_above && held,
        Some(before) if from_above => held && before > 0.0,
        Some(before) => !held && expectation.op.holds(before, expectation.bound),
    };
    let title = expectation.metric.title();
    (is_hidden && !shows(&arm.figures)).then(|| format!("{title} is not measurable until {until}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::metrics::{Figures, Metric, Point, Quantiles, Series};
    use crate::scenario::{Op, Overrides, Source, builtin, parse};

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

    fn judge(
        oversold: u64,
        lost_updates: u64,
        sold_out_all: bool,
        doubt: Option<&str>,
        circumstances: Circumstances<'_>,
    ) -> CheckedExpectation {
        let mut arm = record(doubt);
        arm.figures = Figures {
            oversold,
            lost_updates,
            lost_updates_peak: lost_updates,
            sold_out_all,
            ..Figures::default()
        };
        check_all(&scenario(), &[arm], circumstances).remove(0)
    }

    fn record(doubt: Option<&str>) -> ArmRecord {
        ArmRecord {
            name: "redlock".to_owned(),
            lock: String::new(),
            ttl_ms: 1.0,
            doubt: doubt.map(str::to_owned),
            figures: Figures::default(),
            histograms: BTreeMap::new(),
            series: Series::default(),
            after_end: Point::default(),
            first_error: None,
        }
    }

    fn result(oversold: u64, lost_updates: u64, sold_out_all: bool, circumstances: Circumstances<'_>) -> CheckResult {
        judge(oversold, lost_updates, sold_out_all, None, circumstances).result
    }

    const WHOLE: Circumstances<'static> = Circumstances {
        lost: None,
        unmet: None,
        interrupted: false,
        void: None,
    };

    #[test]
    fn a_zero_counts_only_if_something_else_could_have_shown() {
        let no_fault = Circumstances {
            unmet: Some("fault 1 never fired"),
            ..WHOLE
        };
        let stopped = Circumstances {
            interrupted: true,
            ..WHOLE
        };
        let stepped = Circumstances {
            void: Some("the machine's wall clock stepped"),
            ..WHOLE
        };
        assert_eq!(
            result(3, 3, true, stepped),
            CheckResult::Inconclusive,
            "keys expired by a wrong clock"
        );
        assert_eq!(result(0, 0, true, WHOLE), CheckResult::Held);
        assert_eq!(result(3, 3, true, WHOLE), CheckResult::Failed);
        assert_eq!(
            result(0, 2, false, WHOLE),
            CheckResult::Inconclusive,
            "lost updates that unsold stock hides"
        );
        assert_eq!(
            result(0, 0, true, no_fault),
            CheckResult::Inconclusive,
            "the fault never happened"
        );
        assert_eq!(
            result(0, 0, true, stopped),
            CheckResult::Inconclusive,
            "it might have come later"
        );
        assert_eq!(result(3, 3, true, no_fault), CheckResult::Failed, "damage is damage");
        assert_eq!(result(3, 3, true, stopped), CheckResult::Failed);
    }

    #[test]
    fn an_arm_that_took_no_order_shows_nothing() {
        let judge = |orders, lost_updates, op| {
            let mut scenario = scenario();
            (scenario.expect[0].metric, scenario.expect[0].op) = (Metric::LostUpdates, op);
            let mut arm = record(None);
            (arm.figures.orders, arm.figures.lost_updates) = (orders, lost_updates);
            arm.figures.lost_updates_peak = lost_updates;
            check_all(&scenario, &[arm], WHOLE).remove(0)
        };
        let nothing = judge(0, 0, Op::Equal);
        assert_eq!(nothing.result, CheckResult::Inconclusive);
        assert!(
            nothing
                .text
                .ends_with("lost updates is not measurable until the first order"),
            "{}",
            nothing.text
        );
        assert_eq!(judge(1, 0, Op::Equal).result, CheckResult::Held);
        assert_eq!(
            judge(0, 0, Op::Greater).result,
            CheckResult::Failed,
            "there was no damage"
        );
    }

    #[test]
    fn a_run_that_was_stopped_decides_only_what_can_not_change_any_more() {
        let stopped = Circumstances {
            interrupted: true,
            ..WHOLE
        };
        let judge = |metric, op, bound| {
            let mut scenario = scenario();
            scenario.expect[0].metric = metric;
            (scenario.expect[0].op, scenario.expect[0].bound) = (op, bound);
            let mut arm = record(None);
            (arm.figures.orders, arm.figures.throughput) = (10, 10.0);
            check_all(&scenario, &[arm], stopped)[0].result
        };
        for (op, [below, at, above]) in [
            (
                Op::AtLeast,
                [CheckResult::Held, CheckResult::Held, CheckResult::Inconclusive],
            ),
            (
                Op::AtMost,
                [
                    CheckResult::Failed,
                    CheckResult::Inconclusive,
                    CheckResult::Inconclusive,
                ],
            ),
            (
                Op::Equal,
                [
                    CheckResult::Failed,
                    CheckResult::Inconclusive,
                    CheckResult::Inconclusive,
                ],
            ),
        ] {
            let said = [9.0, 10.0, 11.0].map(|bound| judge(Metric::Orders, op, bound));
            assert_eq!(said, [below, at, above], "{op:?}");
            // A rate can rise and fall until the end.
            let said = [9.0, 10.0, 11.0].map(|bound| judge(Metric::Throughput, op, bound));
            assert_eq!(said, [CheckResult::Inconclusive; 3], "{op:?}");
        }
    }

    #[test]
    fn too_little_oversold_is_no_failure_while_units_hide_it() {
        let judge = |oversold, lost_updates_peak, sold_out_all| {
            let mut scenario = scenario();
            let expectation = &mut scenario.expect[0];
            (expectation.op, expectation.bound) = (Op::AtLeast, 10.0);
            let mut arm = record(None);
            (arm.figures.oversold, arm.figures.lost_updates_peak) = (oversold, lost_updates_peak);
            arm.figures.sold_out_all = sold_out_all;
            check_all(&scenario, &[arm], WHOLE)[0].result
        };
        assert_eq!(judge(0, 39, false), CheckResult::Inconclusive, "39 would have shown");
        assert_eq!(judge(0, 9, false), CheckResult::Failed, "9 are too few anyway");
        assert_eq!(judge(9, 39, true), CheckResult::Failed);
        assert_eq!(judge(10, 39, false), CheckResult::Held);
    }

    #[test]
    fn what_was_lost_or_failed_proves_nothing_but_damage() {
        let lost = Circumstances {
            lost: Some("the cache node died"),
            ..WHOLE
        };
        assert_eq!(result(0, 0, true, lost), CheckResult::Inconclusive);
        assert_eq!(result(3, 3, true, lost), CheckResult::Failed, "the books say so");
        let failing = Some("redlock: 11 of 1,000 requests failed");
        assert_eq!(judge(0, 0, true, failing, WHOLE).result, CheckResult::Inconclusive);
        assert_eq!(judge(3, 3, true, failing, WHOLE).result, CheckResult::Failed);
    }

    #[test]
    fn what_was_never_measured_is_not_fast() {
        let judge = |count| {
            let mut scenario = scenario();
            let expectation = &mut scenario.expect[0];
            (expectation.metric, expectation.op, expectation.bound) = (Metric::AcquireP99, Op::AtMost, 5_000.0);
            let mut arm = record(None);
            arm.figures.acquire_us = Quantiles {
                count,
                ..Quantiles::default()
            };
            check_all(&scenario, &[arm], WHOLE).remove(0)
        };
        assert_eq!(judge(1).result, CheckResult::Held);
        let nothing = judge(0);
        assert_eq!(nothing.result, CheckResult::Inconclusive);
        assert_eq!(
            nothing.text,
            "redlock: acquire p99 – (expected ≤ 5.0 ms); but there was nothing to measure"
        );
    }

    #[test]
    fn a_checked_expectation_says_figure_and_bound_alike() {
        let said = judge(1400, 1400, true, None, WHOLE).text;
        assert_eq!(said, "redlock: oversold 1,400 (expected = 0)");
        let unmet = Some("fault 1 never fired: single.holding reached 31 of 48");
        assert_eq!(
            judge(0, 0, true, None, Circumstances { unmet, ..WHOLE }).text,
            "redlock: oversold 0 (expected = 0); but fault 1 never fired: single.holding reached 31 of 48"
        );
    }
}
