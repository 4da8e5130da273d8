//! The score of an arm, in one figure: its damage, or otherwise the figure that its workload is about.

use super::text;
use crate::report::{self, Arm, Mark};
use lockstorm_data::metrics::{Alarm, Figures, Metric};
use lockstorm_run::ArmView;

/// A figure with its mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Score {
    pub mark: Mark,
    pub value: String,
}

impl Score {
    /// The arm's score for this figure.
    pub fn of(metric: Metric, arm: &Arm<'_>) -> Self {
        Self {
            mark: report::judge(metric, arm),
            // What was made up for later was lost all the same, and a figure that falls looks like a repair.
            value: report::written(metric.peak(), arm).unwrap_or_else(|| text::NONE.to_owned()),
        }
    }

    /// As in the table: `✖ 214`, `✔ 0`, `0 …`.
    pub fn cell(&self) -> String {
        if self.value == text::NONE {
            return self.value.clone();
        }
        report::marked(self.mark, self.value.clone(), true).text
    }
}

/// Whether any damage of the arm is proven.
pub(super) fn is_damaged(figures: &Figures) -> bool {
    Metric::proven(figures).next().is_some()
}

/// What can't be measured yet for an arm that is not in doubt otherwise: `oversold not measurable until sold out`.
pub(super) fn not_measurable(metric: Metric, arms: &[Arm<'_>]) -> Option<String> {
    let Alarm::Damage(evidence) = metric.row().alarm else {
        return None;
    };
    let pending = |arm: &Arm<'_>| !arm.is_doubted() && report::judge(metric, arm) == Mark::Pending;
    arms.iter()
        .any(pending)
        .then(|| format!("{} not measurable until {}", metric.title(), evidence.until))
}

/// Whether the arm's newest acquires were refused because nodes were missing.
pub(super) fn without_quorum(arm: &ArmView) -> bool {
    !arm.lacking.is_empty() && arm.series.newest().is_some_and(|point| point.outcomes.no_quorum > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::facts::Caveat;
    use lockstorm_data::metrics::{Count, Entry};
    use lockstorm_judge::ArmJudgement;

    fn cell(metric: Metric, figures: &Figures, is_doubted: bool) -> String {
        let arm = Arm {
            judged: ArmJudgement {
                doubts: is_doubted.then_some(Caveat::KeeperStopped).into_iter().collect(),
                ..ArmJudgement::default()
            },
            ..Arm::of_figures(figures)
        };
        Score::of(metric, &arm.narrow()).cell()
    }

    #[test]
    fn damage_stays_when_the_figure_falls() {
        let mut figures = Figures {
            ledger: [
                (Entry::Orders, 100),
                (Entry::LostUpdates, 7),
                (Entry::LostUpdatesPeak, 7),
            ]
            .into(),
            ..Figures::default()
        };
        assert_eq!(cell(Metric::LostUpdates, &figures, false), "✖ 7");
        figures.ledger[Entry::LostUpdates] = Some(0);
        assert_eq!(cell(Metric::LostUpdates, &figures, false), "✖ 7");
        assert!(is_damaged(&figures));
    }

    #[test]
    fn a_zero_that_could_not_have_been_more_is_not_praised() {
        let mut figures = Figures {
            ledger: [(Entry::Orders, 100)].into(),
            ..Figures::default()
        };
        assert_eq!(cell(Metric::LostUpdates, &figures, false), "0 …");
        figures.contested = 1;
        assert_eq!(cell(Metric::Oversold, &figures, false), "0 …");
        assert_eq!(cell(Metric::LostUpdates, &figures, false), "✔ 0");
        assert_eq!(cell(Metric::LostUpdates, &figures, true), "0 …");
        assert_eq!(cell(Metric::DuplicatePages, &figures, false), "0 …");
        assert_eq!(cell(Metric::DbHitsPerExpiry, &figures, false), "–");
        figures.sold_out_all = true;
        figures.counts[Count::Hits] = 1;
        assert_eq!(cell(Metric::Oversold, &figures, false), "✔ 0");
        assert_eq!(cell(Metric::DuplicatePages, &figures, false), "✔ 0");
        assert_eq!(cell(Metric::RefusedSeconds, &figures, false), "✔ 0");
    }
}
