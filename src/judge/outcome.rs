//! Where a lock becomes held or broken, or is not shown to be either.

use lockstorm_data::facts::{Caveat, CheckedExpectation};
use lockstorm_data::metrics::{Consequence, ConsequenceKind, Figures, Metric};
use lockstorm_data::model::CheckResult;
use lockstorm_data::scenario::{ArmSpec, LockKind, Op, Scenario, WorkloadSpec};

use crate::cause::{Cause, causes};
use crate::doubt::{Doubts, is_void, meets_no_fault};
use crate::evidence::ArmEvidence;
use crate::mark::Mark;

/// What the judge finds of one arm.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArmJudgement {
    /// Whether its lock held.
    pub outcome: Outcome,
    /// The doubts about all its figures, in the order in which they are shown.
    pub doubts: Vec<Caveat>,
    /// Whether the scenario has faults for its lock and none of them has tested it.
    pub meets_no_fault: bool,
    /// Whether none has tested any other lock of the run either.
    pub is_untested: bool,
    /// Whether an expectation of the scenario about it has failed.
    pub misses_expectation: bool,
    /// Why it fared like that, the most important cause first.
    pub causes: Vec<Cause>,
    /// The events that have tested its lock, by their numbers.
    pub tested_by: Vec<u64>,
}

/// Whether an arm's lock held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It has no lock: it shows what a lock is there for.
    Control,
    /// No two held it, and there is no damage; both would have shown.
    Held,
    /// It broke: two held it at once, or there is damage.
    Damage,
    /// Keys could not be locked at the end, although nobody held them.
    Stuck,
    /// Keys of dead holders kept others out for too long.
    FreesLate,
    /// It protected too little, without damage.
    Poor,
    /// Neither that it held nor that it broke was shown, or all that was shown is in doubt.
    #[default]
    NotShown,
}

impl Outcome {
    /// Whether the lock did not protect what it guards.
    pub const fn is_broken(self) -> bool {
        matches!(self, Self::Damage | Self::Stuck | Self::FreesLate | Self::Poor)
    }
}

impl ArmJudgement {
    /// Why nothing good can be said of the arm, if that is so.
    pub fn doubt(&self) -> Option<&Caveat> {
        self.doubts.first()
    }

    /// What a figure that the arm has says for or against it. `is_stuck`: whether it can't work now.
    pub fn mark(&self, metric: Metric, figures: &Figures, is_stuck: bool) -> Mark {
        let is_doubted = !self.doubts.is_empty();
        let mark = Mark::of(metric, figures, is_doubted, is_stuck);
        match mark.is_damage() && !self.stands(metric, figures) {
            true => Mark::new(metric, Some(CheckResult::Inconclusive)),
            false => mark,
        }
    }

    /// Whether damage that stalls don't explain stands in spite of the doubts: it does, unless one of them is about everything.
    pub fn damage_stands(&self) -> bool {
        !self.doubts.iter().any(is_void)
    }

    /// Whether this damage stands in spite of the doubts.
    fn stands(&self, metric: Metric, figures: &Figures) -> bool {
        let worst = metric.peak();
        let by_lock = worst.by_stalls(figures) < worst.of(figures);
        self.doubts.is_empty() || by_lock && self.damage_stands()
    }

    /// Its outcome in a word or two.
    pub fn word(&self, workload: &WorkloadSpec) -> &'static str {
        match self.outcome {
            Outcome::Control => "control",
            Outcome::Held => "safe",
            Outcome::Damage => "UNSAFE",
            Outcome::Stuck => "stuck",
            Outcome::FreesLate => "frees late",
            Outcome::Poor => workload.about().display().words.poor,
            Outcome::NotShown if self.doubts.is_empty() && self.misses_expectation => "not met",
            Outcome::NotShown if self.doubts.is_empty() => "not shown",
            Outcome::NotShown => "inconclusive",
        }
    }

    /// The name of its outcome in JSON.
    pub const fn name(&self) -> &'static str {
        match self.outcome {
            Outcome::Control => "control",
            Outcome::Held => "safe",
            Outcome::Damage => "unsafe",
            Outcome::Stuck | Outcome::FreesLate | Outcome::Poor => "poor",
            Outcome::NotShown if self.doubts.is_empty() => "unproven",
            Outcome::NotShown => "inconclusive",
        }
    }

    /// Judges an arm of which these expectations were checked. `is_untested`: whether no fault has tested any lock of the run, although some
    /// were to.
    pub(crate) fn new(
        scenario: &Scenario,
        arm: &ArmSpec,
        evidence: &ArmEvidence<'_>,
        doubts: Doubts,
        is_untested: bool,
        checked: &[CheckedExpectation],
    ) -> Self {
        let figures = evidence.figures;
        let meets_no_fault = meets_no_fault(scenario, arm, figures);
        let is_its_own = |checked: &&CheckedExpectation| checked.expectation.arm == arm.name;
        let is_busy = doubts
            .of_results
            .iter()
            .any(|doubt| matches!(doubt, Caveat::MachineBusy { .. }));
        let mut judged = Self {
            outcome: Outcome::Control,
            doubts: doubts.general,
            meets_no_fault,
            is_untested: meets_no_fault && is_untested,
            misses_expectation: checked
                .iter()
                .filter(is_its_own)
                .any(|checked| checked.result == CheckResult::Failed),
            causes: causes(scenario, arm, figures),
            tested_by: tested_by(figures),
        };
        if !is_control(scenario, arm) {
            judged.outcome = judged.outcome_of(scenario, arm, evidence, is_busy);
        }
        judged
    }

    /// The outcome of an arm that is no control. `is_busy`: whether the machine may have made its figures poor.
    fn outcome_of(&self, scenario: &Scenario, arm: &ArmSpec, evidence: &ArmEvidence<'_>, is_busy: bool) -> Outcome {
        let figures = evidence.figures;
        let (verdicts, lacks) = (scenario.workload.about().display().verdicts, scenario.lacks(arm));
        let marks = verdicts.iter().filter(|metric| !lacks.contains(&metric.row().group));
        let marks = marks.map(|metric| self.mark(*metric, figures, evidence.is_stuck));
        let marks: Vec<Mark> = marks.collect();
        let is_poor = marks.iter().any(|mark| mark.is_poor());
        // A workload that is about costs says what two holders have cost, unless the lock is broken altogether.
        let counts = |metric: &Metric| !is_poor || verdicts.contains(metric) || *metric == Metric::LawViolations;
        let mut damage = Metric::proven(figures).filter(counts);
        if damage.any(|metric| self.stands(metric, figures)) {
            return Outcome::Damage;
        }
        if !self.doubts.is_empty() {
            return Outcome::NotShown;
        }
        let outlived = |one: &Consequence| matches!(one.kind, ConsequenceKind::OutlivedHolder { .. });
        if figures.stuck.is_some_and(|stuck| stuck > 0) {
            return Outcome::Stuck;
        }
        if figures.consequences.iter().any(outlived) {
            return Outcome::FreesLate;
        }
        if is_poor {
            return if is_busy { Outcome::NotShown } else { Outcome::Poor };
        }
        // A figure without damage proves nothing if damage would not be visible.
        let has_damage = verdicts.iter().any(|metric| metric.is_damage());
        let shows = |mark: &Mark| mark.is_good() && (mark.is_of_damage() || !has_damage);
        let is_contested = arm.voters(&scenario.lab).is_empty() || figures.was_contested();
        let is_tested = !self.is_untested && !lacks_prediction(scenario, arm, figures);
        // An arm that fails an expectation is not praised.
        match marks.iter().any(shows) && is_contested && is_tested && !self.misses_expectation {
            true => Outcome::Held,
            false => Outcome::NotShown,
        }
    }
}

/// Whether an arm is there to show what happens without a lock: it has none, and another one of the scenario has.
pub fn is_control(scenario: &Scenario, arm: &ArmSpec) -> bool {
    let is_bare = |spec: &ArmSpec| spec.lock == LockKind::None && !spec.update.is_guarded();
    is_bare(arm) && !scenario.arms.iter().all(is_bare)
}

/// Whether the scenario predicts damage of an arm, or faults that meet held locks, and its figures don't have it.
fn lacks_prediction(scenario: &Scenario, arm: &ArmSpec, figures: &Figures) -> bool {
    let shows = |metric: Metric| metric.is_damage() || matches!(metric, Metric::Covered | Metric::GrantedByOldMaster);
    let mut predicted = scenario.expect.iter().filter(|expected| {
        expected.arm == arm.name && shows(expected.metric) && matches!(expected.op, Op::AtLeast | Op::Greater)
    });
    predicted.any(|expected| !expected.op.holds(expected.metric.of(figures), expected.bound))
}

fn tested_by(figures: &Figures) -> Vec<u64> {
    let mut all: Vec<u64> = figures.consequences.iter().filter_map(|one| one.event).collect();
    all.sort_unstable();
    all.dedup();
    all
}
