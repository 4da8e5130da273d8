//! What is shown of a workload, in every table and chart, as data that the report and the console draw.

use crate::metrics::{Metric, Shown};

/// What is shown of a workload.
#[derive(Debug, Clone)]
pub struct Display {
    /// The figures that judge an arm, the most important first; the first is the headline.
    pub verdicts: &'static [Metric],
    /// The title of its table in the summary.
    pub table: &'static str,
    /// The columns of that table.
    pub columns: &'static [Shown],
    /// Its columns in the console's table, each with its rank: when space is short, the highest rank goes first. The
    /// columns of every workload have ranks 2 to 7 there.
    pub console: &'static [(Metric, u8)],
    /// The lanes of the console's timeline, below the faults: figures that are stored for each second and tenth.
    pub lanes: &'static [Metric],
    /// The console's bars, one for each arm.
    pub bars: Bars,
}

impl Display {
    /// The figure that the workload is about, unless the scenario says otherwise.
    pub const fn headline(&self) -> Metric {
        self.verdicts[0]
    }
}

/// A bar for each arm.
#[derive(Debug, Clone)]
pub struct Bars {
    /// The figure that is the length of the bar.
    pub figure: Metric,
    /// The rest of its title.
    pub note: String,
    /// The figure at which the bar is full; `None` if there is no such mark.
    pub full: Option<u64>,
    /// The part of the bar that is damage; `None` if the figure itself is judged.
    pub damage: Option<Metric>,
}
