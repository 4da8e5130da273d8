//! The record of a run that was killed, from its journal.

use serde::Deserialize;
use serde::de::Error;
use serde_json::Value;

use super::journal::{JournalLine, value_of};
use super::record::Record;
use lockstorm_data::facts::{Caveat, Event, EventKind};
use lockstorm_data::metrics::Figures;
use lockstorm_data::metrics::units::rounded;

/// The most events that are read, and the most double holds of an arm; a run of days has thousands.
const MOST: usize = 1_000_000;
/// Seconds are of less than this many: thirty years.
const LAST: i64 = 1_000_000_000;

/// Changes `what` so that it is as the new one was in `changed`. Returns whether more than numbers are new.
pub(super) fn change(what: &mut Value, changes: Value) -> bool {
    let mut is_more = false;
    match (what, changes) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (name, new) in changes {
                is_more |= change(fields.entry(name).or_insert(Value::Null), new);
            }
        }
        (Value::Array(list), Value::Object(changes)) => {
            for (place, new) in changes {
                if let Some(old) = place.parse().ok().and_then(|place: usize| list.get_mut(place)) {
                    is_more |= change(old, new);
                }
            }
        }
        (what, new) => {
            is_more = !(what.is_number() && new.is_number());
            *what = new;
        }
    }
    is_more
}

/// A record that is read from its journal.
#[derive(Debug)]
pub struct Recovered {
    record: Record,
    /// The figures of each arm.
    figures: Vec<Value>,
}

impl Recovered {
    /// The first line is the record itself.
    pub fn of(record: Record) -> Self {
        let figures = record.arms.iter().map(|arm| value_of(&arm.figures)).collect();
        Self { record, figures }
    }

    /// Takes in another line.
    ///
    /// # Errors
    /// It does not belong there, or is one of too many.
    pub fn take(&mut self, line: JournalLine) -> serde_json::Result<()> {
        let record = &mut self.record;
        match line {
            JournalLine::Header(_) => return Err(Error::custom("a second header")),
            JournalLine::Second(points) => {
                if points.iter().any(|point| point.time.abs() > LAST) {
                    return Err(Error::custom("a second that no run reaches"));
                }
                for (arm, point) in record.arms.iter_mut().zip(points) {
                    if let Some(place) = arm.series.at(point.time) {
                        *place = point;
                    }
                }
            }
            JournalLine::Event(event) => put(&mut record.events, event, |event| event.id)?,
            JournalLine::DoubleHold { arm, evidence } => {
                let Some(arm) = record.arms.get_mut(arm) else {
                    return Err(Error::custom("there is no such arm"));
                };
                put(&mut arm.evidence, *evidence, |double| double.number)?;
            }
            JournalLine::Figures { elapsed, arms } => {
                record.elapsed = elapsed.max(0.0);
                for (known, changes) in self.figures.iter_mut().zip(arms) {
                    if change(known, changes) {
                        // What nobody knows is forgotten at once, so that they never become large.
                        *known = value_of(&Figures::deserialize(&*known)?);
                    }
                }
            }
        }
        Ok(())
    }

    /// The record of a run that was killed, once all lines were taken in.
    ///
    /// # Errors
    /// Figures are missing.
    pub fn without_end(mut self) -> serde_json::Result<Record> {
        for (arm, figures) in self.record.arms.iter_mut().zip(&self.figures) {
            arm.figures = Figures::deserialize(figures)?;
        }
        let record = &mut self.record;
        let warning = |event: &Event| match &event.kind {
            EventKind::Warning { caveat } => Some(caveat.clone()),
            _ => None,
        };
        record.warnings = record.events.iter().filter_map(warning).collect();
        let until_s = rounded(record.elapsed);
        record.partial.push(Caveat::Killed { until_s });
        Ok(self.record.concluded())
    }
}

/// Adds something by its number, or replaces what has it.
fn put<T>(list: &mut Vec<T>, one: T, number: impl Fn(&T) -> u64) -> serde_json::Result<()> {
    match list.binary_search_by_key(&number(&one), &number) {
        Ok(place) => list[place] = one,
        Err(_) if list.len() == MOST => return Err(Error::custom("one of too many")),
        Err(place) => list.insert(place, one),
    }
    Ok(())
}
