//! Where a lock becomes held or broken, or is not shown to be either.

use lockstorm_data::facts::Caveat;
use lockstorm_data::metrics::{Consequence, ConsequenceKind, Figures, Metric};
use lockstorm_data::scenario::{ArmSpec, LockKind, Op, Scenario, Update, WorkloadSpec};

use crate::cause::{Cause, causes};
use crate::doubt::{Doubts, is_void};
use crate::evidence::ArmEvidence;
use crate::mark::Mark;

/// What the judge finds of one arm.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArmJudgement {
    /// Whether its lock held.
    pub outcome: Outcome,
    /// Why nothing good can be said of it, whatever its figures are; the heaviest reason first.
    pub doubts: Vec<Caveat>,
    /// Whether the scenario has faults for its lock and none of them has tested it.
    pub meets_no_fault: bool,
    /// Whether that is so of all locks that the run was to test, or the scenario predicts of the arm what has not shown.
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
    /// It did not protect what it guards.
    Broke(Broken),
    /// Nothing that was seen proves anything, or is in doubt.
    #[default]
    NotShown,
}

/// How a lock failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Two held it at once, or there is damage.
    Damage,
    /// Keys could not be locked at the end, although nobody held them.
    Stuck,
    /// Keys of dead holders kept others out for too long.
    FreesLate,
    /// It protected too little, without damage.
    Poor,
}

impl ArmJudgement {
    /// Why nothing good can be said of the arm, if that is so.
    pub fn doubt(&self) -> Option<&Caveat> {
        self.doubts.first()
    }

    /// Whether damage counts in spite of the doubts: whatever was lost or failed, it is in the ledger.
    pub fn damage_stands(&self) -> bool {
        !self.doubts.iter().any(is_void)
    }

    /// The mark of its outcome.
    pub const fn mark(&self) -> Mark {
        match self.outcome {
            Outcome::Control => Mark::Plain,
            Outcome::Held => Mark::Good,
            Outcome::Broke(Broken::Damage) => Mark::Damage,
            Outcome::Broke(_) => Mark::Poor,
            Outcome::NotShown => Mark::Pending,
        }
    }

    /// Its outcome in a word or two.
    pub fn word(&self, workload: &WorkloadSpec) -> &'static str {
        match self.outcome {
            Outcome::Control => "control",
            Outcome::Held => "safe",
            Outcome::Broke(Broken::Damage) => "UNSAFE",
            Outcome::Broke(Broken::Stuck) => "stuck",
            Outcome::Broke(Broken::FreesLate) => "frees late",
            Outcome::Broke(Broken::Poor) => workload.about().display().words.poor,
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
            Outcome::Broke(Broken::Damage) => "unsafe",
            Outcome::Broke(_) => "poor",
            Outcome::NotShown if self.doubts.is_empty() => "unproven",
            Outcome::NotShown => "inconclusive",
        }
    }

    /// Judges an arm. `is_untested`: whether no fault has tested any lock of the run, although some were to; `misses_expectation`: whether an
    /// expectation about it has failed.
    pub(crate) fn new(
        scenario: &Scenario,
        arm: &ArmSpec,
        evidence: &ArmEvidence<'_>,
        doubts: Doubts,
        [is_untested, misses_expectation]: [bool; 2],
    ) -> Self {
        let figures = evidence.figures;
        let meets_no_fault = scenario.is_to_test(arm) && figures.consequences.is_empty();
        let mut judged = Self {
            outcome: Outcome::Control,
            doubts: doubts.general,
            meets_no_fault,
            is_untested: meets_no_fault && is_untested || lacks_prediction(scenario, arm, figures),
            misses_expectation,
            causes: causes(scenario, arm, figures),
            tested_by: tested_by(figures),
        };
        if !is_control(scenario, arm) {
            judged.outcome = judged.outcome_of(scenario, arm, evidence);
        }
        judged
    }

    /// The outcome of an arm that is no control.
    fn outcome_of(&self, scenario: &Scenario, arm: &ArmSpec, evidence: &ArmEvidence<'_>) -> Outcome {
        let figures = evidence.figures;
        let is_doubted = !self.doubts.is_empty();
        let verdicts = scenario.workload.about().display().verdicts;
        // What is in the ledger stands, but for what this machine may have done itself.
        let stands = |metric: &Metric| {
            let worst = metric.peak();
            !is_doubted || self.damage_stands() && worst.by_stalls(figures) < worst.of(figures)
        };
        let lacks = scenario.lacks(arm);
        let mark = |metric: Metric| match lacks.contains(&metric.row().group) {
            true => Mark::Missing,
            false => Mark::new(metric, figures, is_doubted, evidence.is_stuck),
        };
        if verdicts
            .iter()
            .any(|metric| metric.is_proven(figures) && stands(metric))
        {
            return Outcome::Broke(Broken::Damage);
        }
        if is_doubted {
            return Outcome::NotShown;
        }
        let outlived = |one: &Consequence| matches!(one.kind, ConsequenceKind::OutlivedHolder { .. });
        if figures.stuck.is_some_and(|stuck| stuck > 0) {
            return Outcome::Broke(Broken::Stuck);
        }
        if figures.consequences.iter().any(outlived) {
            return Outcome::Broke(Broken::FreesLate);
        }
        if verdicts.iter().any(|metric| mark(*metric) == Mark::Poor) {
            return Outcome::Broke(Broken::Poor);
        }
        if Metric::proven(figures).next().is_some() {
            return Outcome::Broke(Broken::Damage);
        }
        // A figure without damage proves nothing if damage would not be visible.
        let has_damage = verdicts.iter().any(|metric| metric.is_damage());
        let shows = |metric: &Metric| mark(*metric) == Mark::Good && (metric.is_damage() || !has_damage);
        let is_contested = arm.voters(&scenario.lab).is_empty() || figures.was_contested();
        let is_shown = verdicts.iter().any(shows) && is_contested && !self.is_untested;
        // What did less than the scenario expects of it is not praised.
        match is_shown && !self.misses_expectation {
            true => Outcome::Held,
            false => Outcome::NotShown,
        }
    }
}

/// Whether an arm is there to show what happens without a lock: it has none, and another one of the scenario has.
pub fn is_control(scenario: &Scenario, arm: &ArmSpec) -> bool {
    let is_bare = |spec: &ArmSpec| spec.lock == LockKind::None && spec.update != Update::Atomic;
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
