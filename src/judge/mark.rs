use lockstorm_data::metrics::{Alarm, Figures, Metric};
use lockstorm_data::model::CheckResult;

/// What one figure says for or against its arm: the result of the check that its row in the table of figures stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    metric: Metric,
    result: Option<CheckResult>,
}

impl Mark {
    /// A figure with this result; `None` if it has no meaning by itself, or its arm has no such figure.
    pub const fn new(metric: Metric, result: Option<CheckResult>) -> Self {
        Self { metric, result }
    }

    /// A figure that its arm has, with its result. One that proves nothing is never praised: it could not have shown, was lost, or never
    /// happened. `is_doubted`: whether nothing good can be said of the arm; `is_stuck`: whether it can't work now.
    pub(crate) fn of(metric: Metric, figures: &Figures, is_doubted: bool, is_stuck: bool) -> Self {
        let value = metric.of(figures);
        let result = match metric.row().alarm {
            Alarm::Plain => None,
            Alarm::Damage(_) if metric.is_proven(figures) => Some(CheckResult::Failed),
            Alarm::Damage(evidence) if !(evidence.shows)(figures) => Some(CheckResult::Inconclusive),
            _ if !metric.is_known(figures) => Some(CheckResult::Inconclusive),
            Alarm::Poor(most) if value > most => Some(CheckResult::Failed),
            // The arm does nothing now, so an earlier good value says nothing about what comes.
            Alarm::Poor(_) if is_stuck => Some(CheckResult::Inconclusive),
            Alarm::Doubt if value > 0.0 => Some(CheckResult::Failed),
            Alarm::Damage(_) | Alarm::Poor(_) | Alarm::Doubt if is_doubted || figures.incomplete => {
                Some(CheckResult::Inconclusive)
            }
            Alarm::Damage(_) | Alarm::Poor(_) | Alarm::Doubt => Some(CheckResult::Held),
        };
        Self { metric, result }
    }

    /// The result; `None` if the figure has no meaning by itself, or its arm has no such figure.
    pub const fn result(self) -> Option<CheckResult> {
        self.result
    }

    /// Whether it is proven damage.
    pub fn is_damage(self) -> bool {
        self.has_failed() && self.metric.is_damage()
    }

    /// Whether it counts damage, proven or not.
    pub const fn is_of_damage(self) -> bool {
        self.metric.is_damage()
    }

    /// Whether it is all right.
    pub fn is_good(self) -> bool {
        self.result == Some(CheckResult::Held)
    }

    /// Whether it is undesirable, but no damage.
    pub fn is_poor(self) -> bool {
        self.has_failed() && matches!(self.metric.row().alarm, Alarm::Poor(_))
    }

    /// Whether it is worth a look, but perhaps right, like a refusal without a quorum.
    pub fn is_notice(self) -> bool {
        self.has_failed() && matches!(self.metric.row().alarm, Alarm::Doubt)
    }

    /// Whether it proves nothing, or not yet.
    pub fn is_open(self) -> bool {
        self.result == Some(CheckResult::Inconclusive)
    }

    fn has_failed(self) -> bool {
        self.result == Some(CheckResult::Failed)
    }
}
