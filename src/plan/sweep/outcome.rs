use serde::{Deserialize, Serialize};

use super::cell::Cell;
use lockstorm_data::facts::Caveat;
use lockstorm_data::metrics::{Figures, by_name};
use lockstorm_data::model::{CheckResult, in_us};
use lockstorm_run::Record;

/// What one play of a cell gave: a line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The setting.
    pub cell: Cell,
    /// The seed.
    pub seed: u64,
    /// The length of the measured part, in seconds.
    #[serde(rename = "elapsed_us", with = "in_us")]
    pub elapsed: f64,
    /// Why the run proves nothing good; empty if it does.
    pub inconclusive: Vec<Caveat>,
    /// Expectations that did not hold, as in the scenario: `redlock.oversold == 0`.
    pub failed: Vec<String>,
    /// Its arms.
    pub arms: Vec<ArmOutcome>,
}

/// One arm of an [`Outcome`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmOutcome {
    /// Its name.
    pub name: String,
    /// Why nothing good can be said about it.
    pub doubt: Option<Caveat>,
    /// Its figures, as in a record.
    #[serde(flatten, with = "by_name")]
    pub figures: Figures,
}

impl Outcome {
    /// What a record says of this cell.
    pub fn of(cell: Cell, record: Record) -> Self {
        let held = |result| result == CheckResult::Held;
        let failed = record.expectations.iter().filter(|checked| !held(checked.result));
        Self {
            cell,
            seed: record.seed,
            elapsed: record.elapsed,
            failed: failed.map(|checked| checked.expectation.as_written()).collect(),
            inconclusive: record.inconclusive,
            arms: record
                .arms
                .into_iter()
                .map(|arm| ArmOutcome {
                    name: arm.name,
                    doubt: arm.doubt,
                    figures: arm.figures,
                })
                .collect(),
        }
    }
}
