//! What is shown of a workload, in every table and picture: data that the report and the console draw.

use crate::metrics::{Metric, Shown};

/// What is shown of a workload.
#[derive(Debug, Clone)]
pub(crate) struct Display {
    /// What it is judged by, the most telling first; the first is its headline.
    pub verdicts: &'static [Metric],
    /// The title of its table in the summary.
    pub table: &'static str,
    /// The columns of that table.
    pub columns: &'static [Shown],
    /// Its columns in the console's table, each with its rank: where room is short the highest goes first. Columns that every
    /// workload has are ranked 2 to 7 there.
    pub console: &'static [(Metric, u8)],
    /// What the console's timeline shows of an arm under the faults: figures that are kept by the second and by the tenth.
    pub lanes: &'static [Metric],
    /// The console's bars, one for each arm.
    pub bars: Bars,
}

impl Display {
    /// The figure that it is about, where a scenario says nothing else.
    pub const fn headline(&self) -> Metric {
        self.verdicts[0]
    }
}

/// A bar for each arm.
#[derive(Debug, Clone)]
pub(crate) struct Bars {
    /// What is as long as the bar.
    pub figure: Metric,
    /// What its title says besides.
    pub note: String,
    /// What the bar fills up to; none if there is no such mark.
    pub full: Option<u64>,
    /// The part of it that is damage; none if the figure itself is judged.
    pub damage: Option<Metric>,
}
