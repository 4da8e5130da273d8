use lockstorm_data::facts::Caveat;
use lockstorm_data::metrics::{Entry, Figures, Metric};
use lockstorm_data::model::CheckResult;
use lockstorm_data::scenario::{Expectation, Op, Scenario};

use super::scenario;
use crate::{ArmEvidence, Evidence, Judgement, Stage, judge};

/// `failover` without faults, which expects that no arm but the control loses an update.
fn expecting() -> Scenario {
    let mut scenario = scenario("failover");
    scenario.faults.clear();
    scenario.expect = ["single", "redlock"]
        .map(|arm| Expectation {
            arm: arm.to_owned(),
            metric: Metric::LostUpdates,
            op: Op::Equal,
            bound: 0.0,
            text: "== 0".to_owned(),
        })
        .into();
    scenario
}

fn judged(stage: Stage, lost: [u64; 2], caveats: &[Caveat], missing: &[Caveat]) -> Judgement {
    let scenario = expecting();
    let figures = lost.map(|lost| Figures {
        ledger: [
            (Entry::Orders, 100),
            (Entry::LostUpdates, lost),
            (Entry::LostUpdatesPeak, lost),
        ]
        .into(),
        contested: 10,
        ..Figures::default()
    });
    let of = |name: &str| &figures[usize::from(name == "redlock")];
    let arms = scenario.arms.iter().map(|arm| ArmEvidence::new(of(&arm.name)));
    judge(&Evidence {
        scenario: &scenario,
        stage,
        elapsed: 20.0,
        processor_wait: None,
        used_by_others: None,
        caveats,
        missing,
        arms: arms.collect(),
    })
}

#[test]
fn a_failed_expectation_outweighs_an_open_one_and_that_one_that_held() {
    use CheckResult::{Failed, Held, Inconclusive};
    let keeper = [Caveat::KeeperStopped];
    assert_eq!(judged(Stage::Ended, [0, 0], &[], &[]).result(), Held);
    assert_eq!(judged(Stage::Ended, [0, 3], &[], &[]).result(), Failed);
    assert_eq!(judged(Stage::Ended, [0, 0], &keeper, &[]).result(), Inconclusive);
    assert_eq!(
        judged(Stage::Ended, [3, 0], &keeper, &[]).result(),
        Failed,
        "damage stands"
    );
    let order: Vec<String> = judged(Stage::Ended, [0, 3], &[], &[])
        .expectations
        .into_iter()
        .map(|checked| checked.expectation.arm)
        .collect();
    assert_eq!(order, ["single", "redlock"], "that of the scenario");
}

#[test]
fn a_run_that_did_not_end_decides_only_what_can_not_change_any_more() {
    for stage in [Stage::Loaded, Stage::Draining, Stage::Stopped] {
        let results = |lost| judged(stage, lost, &[], &[]).expectations;
        let results: Vec<CheckResult> = results([0, 3]).iter().map(|checked| checked.result).collect();
        assert_eq!(results, [CheckResult::Inconclusive, CheckResult::Failed], "{stage:?}");
    }
    let killed = [Caveat::Killed { until_s: 3 }];
    let judged = judged(Stage::Stopped, [0, 0], &[], &killed);
    assert_eq!(
        (judged.result(), judged.inconclusive),
        (CheckResult::Inconclusive, killed.to_vec())
    );
}

#[test]
fn what_casts_doubt_on_several_arms_is_listed_once_and_what_is_missing_too() {
    let missing = [Caveat::ServerHangs {
        server: lockstorm_data::model::ServerId(1),
    }];
    let all = [Caveat::KeeperStopped, Caveat::KeeperResumed, missing[0].clone()];
    let judged = judged(Stage::Ended, [0, 0], &all, &missing);
    assert_eq!(judged.inconclusive, [Caveat::KeeperStopped, missing[0].clone()]);
}

#[test]
fn a_run_that_was_stopped_has_no_result_without_an_expectation() {
    let mut scenario = expecting();
    scenario.expect.clear();
    let figures = Figures::default();
    let result = |stage| {
        let evidence = Evidence {
            scenario: &scenario,
            stage,
            elapsed: 20.0,
            processor_wait: None,
            used_by_others: None,
            caveats: &[],
            missing: &[],
            arms: vec![ArmEvidence::new(&figures); scenario.arms.len()],
        };
        judge(&evidence).result()
    };
    assert_eq!(
        (result(Stage::Stopped), result(Stage::Ended)),
        (CheckResult::Inconclusive, CheckResult::Held)
    );
}
