//! What the judgements of the arms and the expectations come to for the whole run, and so for its exit code.

use lockstorm_data::facts::{Caveat, CheckedExpectation};
use lockstorm_data::model::CheckResult;

use crate::doubt::{Doubts, untested};
use crate::evidence::{Evidence, Stage};
use crate::expectation::check;
use crate::outcome::ArmJudgement;

/// What a run proves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// One for each arm, in the scenario's order.
    pub arms: Vec<ArmJudgement>,
    /// The expectations of the scenario and their results.
    pub expectations: Vec<CheckedExpectation>,
    /// The doubts about any arm, and everything that could not be read or finished.
    pub inconclusive: Vec<Caveat>,
    /// Whether the run was stopped, so that there is no result without an expectation that is decided.
    pub was_stopped: bool,
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
    let expectations = scenario.expect.iter().filter_map(|expectation| {
        let mut arms = evidence.arms().zip(&doubts);
        let ((_, arm), doubts) = arms.find(|((spec, _), _)| spec.name == expectation.arm)?;
        Some(check(expectation, arm.figures, doubts.all(), evidence.elapsed))
    });
    let expectations: Vec<CheckedExpectation> = expectations.collect();
    let arms = evidence.arms().zip(doubts);
    let arms =
        arms.map(|((spec, arm), doubts)| ArmJudgement::new(scenario, spec, arm, doubts, is_untested, &expectations));
    let arms = arms.collect();
    Judgement {
        arms,
        expectations,
        inconclusive,
        was_stopped: evidence.stage == Stage::Stopped,
    }
}

impl Judgement {
    /// The result of the whole run: a failed expectation, including one that proven damage broke, outweighs an inconclusive one.
    pub fn result(&self) -> CheckResult {
        let doubted = (!self.inconclusive.is_empty()).then_some(CheckResult::Inconclusive);
        let results = self.expectations.iter().map(|checked| checked.result);
        results.chain(doubted).max().unwrap_or(match self.was_stopped {
            true => CheckResult::Inconclusive,
            false => CheckResult::Held,
        })
    }
}
