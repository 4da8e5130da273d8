use lockstorm_data::facts::Caveat;
use lockstorm_data::metrics::Figures;
use lockstorm_data::scenario::{ArmSpec, Scenario};

/// What is known of a run.
#[derive(Debug, Clone)]
pub struct Evidence<'a> {
    /// What was played.
    pub scenario: &'a Scenario,
    /// How far the run has come.
    pub stage: Stage,
    /// How long its load has lasted, in seconds.
    pub elapsed: f64,
    /// The part of that time in which the threads of the app servers waited for a processor although nobody had paused them, if it is known.
    pub processor_wait: Option<f64>,
    /// The part of all processor time that other programs used meanwhile, if it is known.
    pub used_by_others: Option<f64>,
    /// Everything that a reader of the figures should know, in the order in which it became known. Most of it casts no doubt.
    pub caveats: &'a [Caveat],
    /// What could not be read or finished.
    pub missing: &'a [Caveat],
    /// The arms, in the scenario's order.
    pub arms: Vec<ArmEvidence<'a>>,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Its load is on.
    Loaded,
    /// Its load has ended, and figures may still change.
    Draining,
    /// It was stopped, or killed, before its end.
    Stopped,
    /// It has ended as planned.
    Ended,
}

/// What is known of one arm.
#[derive(Debug, Clone, Copy)]
pub struct ArmEvidence<'a> {
    /// Its figures until now.
    pub figures: &'a Figures,
    /// The error of its first failed request.
    pub first_error: Option<&'a str>,
    /// True if it can't work although it has something to do. Only of a run under way.
    pub is_stuck: bool,
    /// The doubts that arise later in the run, if the evidence is of an earlier instant: they also rule out that it held until then.
    pub later: &'a [Caveat],
}

impl<'a> ArmEvidence<'a> {
    /// The evidence of an arm of a run that has ended, by its figures alone.
    pub const fn new(figures: &'a Figures) -> Self {
        Self {
            figures,
            first_error: None,
            is_stuck: false,
            later: &[],
        }
    }
}

impl Evidence<'_> {
    /// The arms with what the scenario says of them.
    pub(crate) fn arms(&self) -> impl Iterator<Item = (&ArmSpec, &ArmEvidence<'_>)> {
        self.scenario.arms.iter().zip(&self.arms)
    }
}
