//! Runs that can stand on one page.

use crate::report::columns::Arm;
use lockstorm_data::model::printable;
use lockstorm_data::scenario::Scenario;
use lockstorm_run::Record;

/// Runs of one scenario, each with another seed; at least one.
#[derive(Debug)]
pub struct Runs {
    all: Vec<Record>,
}

impl Runs {
    /// These runs, in the order of their seeds. Each record has the name of its file.
    ///
    /// # Errors
    /// There is none, or two are of different scenarios: the sentence says which, and where they differ.
    pub fn of(mut records: Vec<(String, Record)>) -> Result<Self, String> {
        records.sort_by_key(|(_, record)| record.seed);
        let Some((first_name, first)) = records.first() else {
            return Err("there is no record to report".to_owned());
        };
        for (name, record) in &records {
            if without_seed(&record.scenario) != without_seed(&first.scenario) {
                let (here, there) = difference(first, record);
                return Err(format!(
                    "{first_name} and {name} are of different scenarios: one has \"{here}\", the other \"{there}\"; report \
                     each by itself"
                ));
            }
        }
        let all = records.into_iter().map(|(_, record)| record).collect();
        Ok(Self { all })
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Record] {
        &self.all
    }

    /// The first one, which charts show.
    pub(super) fn first(&self) -> &Record {
        // There is at least one.
        &self.all[0]
    }

    pub(super) fn scenario(&self) -> &Scenario {
        &self.first().scenario
    }

    /// An arm in each run.
    pub(super) fn arm(&self, index: usize) -> Vec<Arm<'_>> {
        let of_run = |record| Arm::all_of_record(record).into_iter().nth(index);
        self.all.iter().filter_map(of_run).collect()
    }
}

fn without_seed(scenario: &Scenario) -> Scenario {
    Scenario {
        seed: 0,
        ..scenario.clone()
    }
}

/// The first line in which two scenarios differ, as each has it.
fn difference(one: &Record, other: &Record) -> (String, String) {
    let lines = |record: &Record| -> Vec<String> {
        let all = record.scenario_toml.lines().map(|line| printable(line.trim()));
        all.filter(|line| !line.starts_with("seed")).collect()
    };
    let (one, other) = (lines(one), lines(other));
    let place = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    let at = |lines: &[String]| lines.get(place).cloned().unwrap_or_else(|| "nothing".to_owned());
    (at(&one), at(&other))
}
