//! The score of an arm, in one figure: its damage, or otherwise the figure that its workload is about.

use super::text;
use crate::report::{self, Arm, Mark, Tone};
use lockstorm_data::metrics::{Alarm, Figures, Metric};
use lockstorm_data::scenario::WorkloadSpec;
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

    /// What an arm's lock cost: this figure, or the name of other damage that its workload knows. Other damage has no number here: this
    /// figure, which may be smaller, would replace it later, and a number of damage must not fall.
    pub fn of_cost(metric: Metric, arm: &Arm<'_>, workload: &WorkloadSpec) -> Self {
        let score = Self::of(metric, arm);
        let mut others = workload.about().display().verdicts.iter().copied();
        let is_other =
            |other: &Metric| !score.mark.is_damage() && !score.mark.is_poor() && other.is_proven(arm.figures);
        match others.find(is_other) {
            None => score,
            Some(other) => Self {
                mark: report::judge(other, arm),
                value: other.title().to_owned(),
            },
        }
    }

    /// As in the table: `✖ 214`, `✔ 0`, `0 …`.
    pub fn cell(&self) -> String {
        if self.value == text::NONE {
            return self.value.clone();
        }
        report::marked(report::sign(self.mark), self.value.clone(), true).text
    }

    /// How it looks: what is not known is faint.
    pub fn tone(&self) -> Tone {
        match self.value == text::NONE {
            true => Tone::Faint,
            false => report::sign(self.mark).0,
        }
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
    let pending = |arm: &Arm<'_>| !arm.is_doubted() && report::judge(metric, arm).is_open();
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
    use lockstorm_data::scenario::{Overrides, Source, parse};
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
    fn damage_of_another_kind_than_the_column_counts_has_its_name_and_no_number_that_could_fall() {
        let source = Source::open("failover").expect("it is built in");
        let workload = parse(&source, &Overrides::default()).expect("it is valid").workload;
        let told = |figures: &Figures| Score::of_cost(Metric::Oversold, &Arm::of_figures(figures).narrow(), &workload);
        let mut figures = Figures {
            ledger: [(Entry::Orders, 9), (Entry::LostUpdates, 4), (Entry::LostUpdatesPeak, 4)].into(),
            ..Figures::default()
        };
        let lost = told(&figures);
        assert!(lost.mark.is_damage());
        assert_eq!(lost.value, "lost updates");
        figures.ledger[Entry::Oversold] = Some(2);
        assert_eq!(told(&figures).value, "2");
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
