use lockstorm_data::facts::{Caveat, CheckedExpectation};
use lockstorm_data::model::CheckResult;

use crate::doubt::{Doubts, untested};
use crate::evidence::Evidence;
use crate::expectation::check;
use crate::outcome::ArmJudgement;

/// What a run proves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// One for each arm, in the scenario's order.
    pub arms: Vec<ArmJudgement>,
    /// The expectations of the scenario and their results.
    pub expectations: Vec<CheckedExpectation>,
    /// Why the run, or one of its arms, proves nothing good, and what could not be read or finished.
    pub inconclusive: Vec<Caveat>,
}

/// Judges a run.
pub fn judge(evidence: &Evidence<'_>) -> Judgement {
    let scenario = evidence.scenario;
    let is_untested = untested(scenario, evidence.arms.iter().map(|arm| arm.figures)).is_some();
    let doubts = evidence
        .arms()
        .map(|(spec, arm)| Doubts::new(evidence, spec, arm, is_untested));
    let doubts: Vec<Doubts> = doubts.collect();
    let mut inconclusive: Vec<Caveat> = Vec::new();
    for caveat in doubts.iter().flat_map(|of_arm| &of_arm.general).chain(evidence.missing) {
        if !inconclusive.contains(caveat) {
            inconclusive.push(caveat.clone());
        }
    }
    let end = scenario.duration.as_secs_f64();
    let expectations = scenario.expect.iter().filter_map(|expectation| {
        let mut arms = evidence.arms().zip(&doubts);
        let ((_, arm), doubts) = arms.find(|((spec, _), _)| spec.name == expectation.arm)?;
        Some(check(expectation, arm.figures, doubts.all(), end))
    });
    let expectations: Vec<CheckedExpectation> = expectations.collect();
    let misses = |name: &str| {
        let mut of_arm = expectations.iter().filter(|checked| checked.expectation.arm == name);
        of_arm.any(|checked| checked.result == CheckResult::Failed)
    };
    let arms = evidence.arms().zip(doubts).map(|((spec, arm), doubts)| {
        let said = [is_untested, misses(&spec.name)];
        ArmJudgement::new(scenario, spec, arm, doubts, said)
    });
    let arms = arms.collect();
    Judgement {
        arms,
        expectations,
        inconclusive,
    }
}

impl Judgement {
    /// The result of the whole run: a failed expectation, including one that proven damage broke, outweighs an inconclusive one.
    pub fn result(&self) -> CheckResult {
        let any = |result| self.expectations.iter().any(|checked| checked.result == result);
        if any(CheckResult::Failed) {
            CheckResult::Failed
        } else if any(CheckResult::Inconclusive) || !self.inconclusive.is_empty() {
            CheckResult::Inconclusive
        } else {
            CheckResult::Held
        }
    }
}
