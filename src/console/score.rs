//! What to say of an arm in one figure: its damage, whose mark stays for the run, or else what its workload is about.

use crate::metrics::Metric;
use crate::metrics::{Count, Figures};
use crate::run::{ArmView, Health};
use crate::scenario::{Scenario, WorkloadSpec};

use super::text;

/// Which damage was proven in this run: damage once proven stays proven. Its count is the figure of the moment, which can
/// fall: a later stale write makes up for a lost update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Damage {
    pub oversold: bool,
    pub lost_updates: bool,
    pub duplicate_pages: bool,
    pub missing_pages: bool,
}

impl Damage {
    pub fn latch(&mut self, figures: &Figures) {
        self.oversold |= figures.oversold > 0;
        self.lost_updates |= figures.lost_updates.max(figures.lost_updates_peak) > 0;
        self.duplicate_pages |= figures.duplicate_pages > 0;
        self.missing_pages |= figures.missing_pages > 0;
    }

    pub const fn any(&self) -> bool {
        self.oversold || self.lost_updates || self.duplicate_pages || self.missing_pages
    }
}

/// How good a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// As it should be.
    Good,
    /// It can't be told yet.
    Pending,
    /// Not what one wants, but no damage.
    Poor,
    /// Worth a look: it may well be right, as a refusal without a quorum is.
    Notice,
    /// Proven damage.
    Damage,
    /// The arm has no such figure.
    Missing,
}

impl Mark {
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Good => "✔",
            Self::Pending => "…",
            Self::Poor | Self::Damage => "✖",
            Self::Notice => "!",
            Self::Missing => " ",
        }
    }
}

/// A figure with its mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Score {
    pub mark: Mark,
    pub value: String,
}

impl Score {
    /// For a table: `✖ 214`, `✔ 0`, `0 …`.
    pub fn cell(&self) -> String {
        match self.mark {
            Mark::Missing => self.value.clone(),
            Mark::Pending => format!("{} …", self.value),
            mark => format!("{} {}", mark.symbol(), self.value),
        }
    }

    fn missing() -> Self {
        Self {
            mark: Mark::Missing,
            value: text::NONE.to_owned(),
        }
    }
}

/// The figure that a scenario is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headline {
    Oversold,
    LostUpdates,
    DuplicatePages,
    HitsPerExpiry,
    RefusedSeconds,
}

impl Headline {
    /// The first expectation that names a headline says it; else the workload does.
    pub fn of(scenario: &Scenario) -> Self {
        let expected = scenario.expect.iter().find_map(|expectation| match expectation.metric {
            Metric::Oversold => Some(Self::Oversold),
            Metric::LostUpdates => Some(Self::LostUpdates),
            Metric::DuplicatePages => Some(Self::DuplicatePages),
            Metric::DbHitsPerExpiry | Metric::DbHitsPerExpiryMax => Some(Self::HitsPerExpiry),
            Metric::NoQuorum | Metric::RefusedSeconds => Some(Self::RefusedSeconds),
            _ => None,
        });
        expected.unwrap_or_else(|| match &scenario.workload {
            WorkloadSpec::Inventory(_) => Self::Oversold,
            WorkloadSpec::CacheFill(spec) if spec.caches.iter().any(|cache| cache.pages.is_some()) => {
                Self::DuplicatePages
            }
            WorkloadSpec::CacheFill { .. } => Self::HitsPerExpiry,
        })
    }

    /// What to show of an arm in one figure: a stock that is not sold out can't be oversold, but updates can be lost from the
    /// first sale on. Damage is never left for a figure without.
    pub const fn showing(self, arm: &ArmView, damage: &Damage) -> Self {
        match self {
            Self::Oversold if damage.oversold && (arm.sold_out || !damage.lost_updates) => Self::Oversold,
            Self::Oversold if arm.sold_out && !damage.lost_updates => Self::Oversold,
            Self::Oversold => Self::LostUpdates,
            other => other,
        }
    }

    /// What it counts.
    pub const fn metric(self) -> Metric {
        match self {
            Self::Oversold => Metric::Oversold,
            Self::LostUpdates => Metric::LostUpdates,
            Self::DuplicatePages => Metric::DuplicatePages,
            Self::HitsPerExpiry => Metric::DbHitsPerExpiry,
            Self::RefusedSeconds => Metric::RefusedSeconds,
        }
    }

    /// The title of what it counts.
    pub const fn title(self) -> &'static str {
        self.metric().title()
    }

    /// The arm's score. Nothing is praised that proves nothing: what was lost, what never happened.
    pub fn score(self, arm: &ArmView, damage: &Damage) -> Score {
        let score = self.face_value(arm, damage);
        if score.mark == Mark::Good && arm.doubt.is_some() {
            return Score {
                mark: Mark::Pending,
                ..score
            };
        }
        score
    }

    fn face_value(self, arm: &ArmView, damage: &Damage) -> Score {
        let figures = &arm.figures;
        match self {
            Self::Oversold => damaged(damage.oversold, figures.oversold, arm.sold_out),
            Self::LostUpdates => damaged(damage.lost_updates, figures.lost_updates, figures.orders > 0),
            Self::DuplicatePages => damaged(
                damage.duplicate_pages,
                figures.duplicate_pages,
                figures.counts[Count::Hits] > 0,
            ),
            Self::HitsPerExpiry => {
                let hits = figures.db_hits_per_expiry;
                let mark = match hits.expiries {
                    0 => Mark::Pending,
                    // Nobody can refill now: what was right before says nothing of that.
                    _ if hits.mean < 1.05 && arm.live.health != Health::Well && !arm.done => Mark::Notice,
                    _ if hits.mean < 1.05 => Mark::Good,
                    _ => Mark::Poor,
                };
                let value = if hits.expiries == 0 {
                    text::NONE.to_owned()
                } else {
                    text::decimal(hits.mean)
                };
                Score { mark, value }
            }
            Self::RefusedSeconds if arm.votes.is_none() && figures.outcomes.total() == 0 => Score::missing(),
            Self::RefusedSeconds => {
                let refused = figures.refused_seconds;
                let mark = if refused == 0 { Mark::Good } else { Mark::Notice };
                Score {
                    mark,
                    value: text::count(refused),
                }
            }
        }
    }
}

fn damaged(proven: bool, count: u64, can_show: bool) -> Score {
    let mark = match (proven, can_show) {
        (true, _) => Mark::Damage,
        (false, true) => Mark::Good,
        (false, false) => Mark::Pending,
    };
    Score {
        mark,
        value: text::count(count),
    }
}

/// Whether the arm's newest acquires were refused for lack of nodes.
pub(super) fn without_quorum(arm: &ArmView) -> bool {
    !arm.lacking.is_empty() && arm.series.newest().is_some_and(|point| point.outcomes.no_quorum > 0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::run::Live;

    #[test]
    fn the_mark_of_damage_stays_when_the_figure_falls() {
        let mut damage = Damage::default();
        damage.latch(&Figures {
            lost_updates: 7,
            ..Figures::default()
        });
        damage.latch(&Figures::default());
        assert!(damage.any());
        assert_eq!(damaged(damage.lost_updates, 7, true).cell(), "✖ 7");
        assert_eq!(damaged(damage.lost_updates, 0, true).cell(), "✖ 0");
    }

    #[test]
    fn updates_are_lost_before_a_stock_can_be_oversold() {
        let figures = |oversold, lost_updates| {
            let mut damage = Damage::default();
            damage.latch(&Figures {
                oversold,
                lost_updates,
                ..Figures::default()
            });
            damage
        };
        let shown = |sold_out, damage: Damage| {
            let arm = ArmView {
                name: String::new(),
                label: String::new(),
                figures: Figures::default(),
                series: Arc::default(),
                trace: Arc::default(),
                votes: None,
                lacking: Vec::new(),
                sold_out,
                done: false,
                finish: None,
                live: Live::default(),
                doubt: None,
            };
            Headline::Oversold.showing(&arm, &damage)
        };
        assert_eq!(shown(false, figures(0, 0)), Headline::LostUpdates);
        assert_eq!(shown(false, figures(0, 290)), Headline::LostUpdates);
        assert_eq!(shown(false, figures(1, 290)), Headline::LostUpdates);
        assert_eq!(shown(true, figures(14, 14)), Headline::Oversold);
        assert_eq!(shown(true, figures(0, 0)), Headline::Oversold);
        // Damage goes before a zero.
        assert_eq!(shown(true, figures(0, 2)), Headline::LostUpdates);
        assert_eq!(shown(false, figures(2, 0)), Headline::Oversold);
    }

    #[test]
    fn a_zero_that_could_not_have_been_more_is_not_praised() {
        assert_eq!(damaged(false, 0, false).cell(), "0 …");
        assert_eq!(damaged(false, 0, true).cell(), "✔ 0");
    }
}
