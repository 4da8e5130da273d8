//! Runs that can stand on one page.

use hdrhistogram::Histogram;

use crate::report::columns::Arm;
use lockstorm_data::history::DoubleHold;
use lockstorm_data::metrics::{NotAHistogram, Time, histogram};
use lockstorm_data::model::printable;
use lockstorm_data::scenario::Scenario;
use lockstorm_run::{ArmRecord, Record};

/// Runs of one scenario, each with another seed; at least one.
#[derive(Debug)]
pub struct Runs {
    all: Vec<Record>,
    /// The name of the file of each.
    files: Vec<String>,
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
            if !is_same(&record.scenario, &first.scenario) {
                let (here, there) = difference(first, record);
                return Err(format!(
                    "{first_name} and {name} are of different scenarios: one has \"{here}\", the other \"{there}\"; report \
                     each by itself"
                ));
            }
        }
        let (files, all) = records.into_iter().unzip();
        Ok(Self { all, files })
    }

    /// All of them.
    pub fn all(&self) -> &[Record] {
        &self.all
    }

    /// Each with the name of its file.
    pub(super) fn with_files(&self) -> impl Iterator<Item = (&str, &Record)> {
        self.files.iter().map(String::as_str).zip(&self.all)
    }

    /// The first one: what happened is told of it.
    pub(super) fn first(&self) -> &Record {
        // There is at least one.
        &self.all[0]
    }

    pub(super) fn scenario(&self) -> &Scenario {
        &self.first().scenario
    }

    /// How long it took an arm to get a lock, in microseconds, in all runs together.
    ///
    /// # Errors
    /// A text is not a histogram: another program wrote the record.
    pub(super) fn acquired(&self, index: usize) -> Result<Histogram<u64>, NotAHistogram> {
        let mut all = histogram();
        for arm in self.all.iter().filter_map(|record| record.arms.get(index)) {
            // The histogram resizes itself, so no value is out of range.
            let _ = all.add(arm.histogram(Time::Acquired)?);
        }
        Ok(all)
    }

    /// The first double hold of each arm that has one, with the first run in which it has one.
    pub(super) fn evidence(&self) -> impl Iterator<Item = (&Record, &ArmRecord, &DoubleHold)> {
        (0..self.first().arms.len()).filter_map(move |index| {
            self.all.iter().find_map(|record| {
                let arm = record.arms.get(index)?;
                Some((record, arm, arm.evidence.first()?))
            })
        })
    }

    /// An arm in each run.
    pub(super) fn arm(&self, index: usize) -> Vec<Arm<'_>> {
        let of_run = |record| Arm::all_of_record(record).into_iter().nth(index);
        self.all.iter().filter_map(of_run).collect()
    }
}

/// Whether two scenarios differ in their seed at most.
pub(super) fn is_same(one: &Scenario, other: &Scenario) -> bool {
    let seed = one.seed;
    *one == Scenario { seed, ..other.clone() }
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
