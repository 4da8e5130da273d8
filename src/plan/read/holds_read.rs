use serde::Serialize;

use super::unit::{TimeUnit, UnitBy};

/// Which part of a file has the holds, where it does not say so itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoldsOptions {
    /// The unit of its numbers.
    pub unit: Option<TimeUnit>,
    /// The column, by its name.
    pub column: Option<String>,
    /// The histogram, by its name.
    pub metric: Option<String>,
}

/// What was read of a file of holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HoldsRead {
    /// The file.
    pub file: String,
    /// The part of it that has the holds.
    #[serde(rename = "from")]
    pub part: HoldsPart,
    /// The unit of its numbers and what says so; null if each value has a unit of its own.
    pub unit: Option<(TimeUnit, UnitBy)>,
    /// How many values it has.
    pub values: u64,
    /// How many of them are above this bound, the last finite one of a histogram, in seconds: their size is unknown. Null if there are
    /// none.
    pub above: Option<(u64, f64)>,
    /// How many rows of failed samples were left out; null if the file does not say which samples failed.
    pub failed: Option<u64>,
}

/// The part of a file that has the holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldsPart {
    /// A column; null if it has no name.
    Column(Option<String>),
    /// All series of a Prometheus histogram.
    Metric {
        /// Its name, without `_bucket`.
        name: String,
        /// How many series it has.
        series: usize,
        /// Whether some of them lack bounds that others have.
        bounds_differ: bool,
    },
    /// The percentiles of an HdrHistogram.
    Percentiles,
}
