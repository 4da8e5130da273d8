use serde::Serialize;

use super::comparison::Comparison;
use lockstorm_data::model::CheckResult;

/// The least probability of an overrun with which a cell says something about overruns.
const LEAST: f64 = 1e-3;

/// The whole table, and its control.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validation {
    /// The cells.
    pub cells: Vec<Comparison>,
    /// The control: all cells, but with TTLs in virtual time that are 10 % too long. They must differ.
    pub control: Vec<Comparison>,
    /// Stages whose runs proved nothing, and why: a sentence each.
    pub left_out: Vec<String>,
}

impl Validation {
    /// The worst result of all cells. A table that finds no planted error, lacks a stage or has no cell proves nothing.
    pub fn result(&self) -> CheckResult {
        if self.found() == 0 {
            return CheckResult::Inconclusive;
        }
        let open = (!self.left_out.is_empty() || self.cells.is_empty()).then_some(CheckResult::Inconclusive);
        let results = self.cells.iter().map(Comparison::result);
        results.chain(open).max().unwrap_or(CheckResult::Inconclusive)
    }

    /// How many cells have a probability of at least 1e-3.
    pub fn telling(&self) -> usize {
        let tells = |cell: &&Comparison| cell.overrun.simulated >= LEAST;
        self.cells.iter().filter(tells).count()
    }

    /// In how many cells the planted error was found.
    pub fn found(&self) -> usize {
        // A cell may differ for another reason, which finds no planted error.
        let differs = |cell: &&Comparison| cell.overrun.result == CheckResult::Failed;
        self.control.iter().filter(differs).count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::setting::{Renewal, Setting};
    use crate::simulated::Simulated;
    use crate::validation::agreement::Difference;
    use crate::validation::stage::{Breaks, PlayedLock, Stage};

    /// A cell in which so many of 20,000 sections overran, and 50,000 of a million in virtual time.
    fn cell(overran: u64) -> Comparison {
        Comparison {
            lock: PlayedLock::Single,
            stage: Stage {
                setting: Setting {
                    ttl: Duration::from_millis(50),
                    renewal: Renewal::Off,
                },
                breaks: Breaks::Nothing,
                length: Duration::from_secs(20),
                runs: 1,
            },
            sections: 20_000,
            simulated: Simulated::default(),
            overrun: Difference::of((overran, 20_000), (50_000, 1_000_000), 2),
            holds: None,
            acquires: None,
            takeovers: None,
        }
    }

    #[test]
    fn a_table_holds_only_if_every_cell_agrees_none_is_left_out_and_it_can_find_an_error() {
        let table = |cells: &[u64], control: &[u64], left_out: &[&str]| Validation {
            cells: cells.iter().map(|overran| cell(*overran)).collect(),
            control: control.iter().map(|overran| cell(*overran)).collect(),
            left_out: left_out.iter().map(ToString::to_string).collect(),
        };
        let good = table(&[1_000, 1_010], &[1_600, 1_000], &[]);
        assert_eq!((good.result(), good.telling(), good.found()), (CheckResult::Held, 2, 1));
        assert_eq!(table(&[1_000, 1_600], &[1_600], &[]).result(), CheckResult::Failed);
        for (open, why) in [
            (table(&[1_000], &[1_000], &[]), "nothing was found"),
            (table(&[1_000], &[1_600], &["stage 7: the run stood still"]), "left out"),
            (table(&[], &[], &[]), "empty"),
        ] {
            assert_eq!(open.result(), CheckResult::Inconclusive, "{why}");
        }
    }
}
