//! The journal of a run: JSON Lines that are written while it goes on, and from which its record is read if it was killed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::de::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::record::Record;
use lockstorm_base::output::Stream;
use lockstorm_data::history::DoubleHold;
use lockstorm_data::metrics::{Figures, Point, Series};
use lockstorm_data::model::{Event, EventKind, in_us};

/// How often lines are written.
const EVERY: Duration = Duration::from_secs(1);
/// Figures are among them as often as a part of the time that has passed: in six busy arms 500 numbers change every second.
const FIGURES_PART: f64 = 1.0 / 300.0;
/// How many seconds later a second may still change: the ledger is read a little later.
const LATE: i64 = 10;
/// The most events that are read, and the most double holds of an arm; a run of days has thousands.
const MOST: usize = 1_000_000;

/// A line of a journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalLine {
    /// The first line: the record as far as it is known when the load begins. It is interrupted, and its arms have done nothing.
    Header(Box<Record>),
    /// The points of all arms for one second. A later line of the same second replaces it.
    Second(Vec<Point>),
    /// An event, or what it has become.
    Event(Event),
    /// The evidence of a double hold that is over and judged. A later line of the same number in the same arm replaces it.
    DoubleHold {
        /// The place of its arm, from 0.
        arm: usize,
        /// The evidence.
        evidence: Box<DoubleHold>,
    },
    /// The figures of all arms.
    Figures {
        /// When.
        #[serde(rename = "elapsed_us", with = "in_us")]
        elapsed: f64,
        /// What has [changed](changed) in those of each arm since the line before, or since the header.
        arms: Vec<Value>,
    },
}

impl JournalLine {
    /// The line for the figures of all arms, if these are `written` already.
    pub fn figures(elapsed: f64, arms: impl Iterator<Item = Figures>, written: &mut [Value]) -> Self {
        let changes = arms.zip(written).map(|(figures, written)| {
            let new = value_of(&figures);
            changed(&std::mem::replace(written, new), written).unwrap_or_else(|| json!({}))
        });
        Self::Figures {
            elapsed,
            arms: changes.collect(),
        }
    }
}

/// Figures are always JSON.
fn value_of(figures: &Figures) -> Value {
    serde_json::to_value(figures).unwrap_or_default()
}

/// What has changed: of an object only that, of a list of the same length too, under each place; `None` if nothing has. No field
/// goes away while a run goes on.
fn changed(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        _ if old == new => None,
        (Value::Object(old), Value::Object(new)) => {
            let changed = |(name, new): (&String, &Value)| {
                let now = old.get(name).map_or_else(|| Some(new.clone()), |old| changed(old, new));
                Some((name.clone(), now?))
            };
            Some(new.iter().filter_map(changed).collect())
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let pairs = old.iter().zip(new).enumerate();
            let changed = |(place, (old, new)): (usize, _)| Some((place.to_string(), changed(old, new)?));
            Some(pairs.filter_map(changed).collect())
        }
        _ => Some(new.clone()),
    }
}

/// Changes `what` so that it is as the new one was in [`changed`]. Returns whether more than numbers are new.
fn change(what: &mut Value, changes: Value) -> bool {
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
        let warning = |event: &Event| matches!(event.kind, EventKind::Warning).then(|| event.text.clone());
        record.warnings = record.events.iter().filter_map(warning).collect();
        record.partial.push(format!(
            "the run was killed before it had made its record: this is what its journal says until second {:.0}",
            record.elapsed
        ));
        Ok(self.record)
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

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    out: Stream,
    next: Instant,
    figures_next: Instant,
    /// The figures of each arm, as they were written.
    figures: Vec<Value>,
    /// The newest seconds, as they were written.
    written: BTreeMap<i64, Vec<Point>>,
    lines: Vec<u8>,
}

impl Journal {
    /// Begins with the header.
    pub fn begin(out: Stream, header: Record) -> Self {
        let mut journal = Self::of(out, header.arms.iter().map(|arm| value_of(&arm.figures)).collect());
        journal.add(&JournalLine::Header(Box::new(header)));
        journal
    }

    fn of(out: Stream, figures: Vec<Value>) -> Self {
        let now = Instant::now();
        Self {
            out,
            next: now,
            figures_next: now,
            figures,
            written: BTreeMap::new(),
            lines: Vec::new(),
        }
    }

    /// Whether it is time to write again.
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Adds a line, which is written with the next ones.
    pub fn add(&mut self, line: &JournalLine) {
        // Numbers and texts are always JSON.
        if serde_json::to_writer(&mut self.lines, line).is_ok() {
            self.lines.push(b'\n');
        }
    }

    /// Adds the points of the seconds before `until`, as far as they are new or have changed.
    pub fn add_seconds(&mut self, until: i64, arms: &[&Series]) {
        let Some(first) = arms.first().and_then(|series| series.iter().next()) else {
            return;
        };
        let unwritten = self.written.keys().next_back().map_or(first.time, |newest| newest + 1);
        for time in unwritten.min(until - LATE).max(first.time)..until {
            let of = |series: &&Series| {
                let point = series.iter().rev().find(|point| point.time <= time);
                let empty = Point {
                    time,
                    ..Point::default()
                };
                point.filter(|point| point.time == time).copied().unwrap_or(empty)
            };
            let points: Vec<Point> = arms.iter().map(of).collect();
            if self.written.get(&time) != Some(&points) {
                self.add(&JournalLine::Second(points.clone()));
                self.written.insert(time, points);
            }
        }
        self.written = self.written.split_off(&(until - LATE));
    }

    /// Adds what has changed in the figures of all arms, if it is time.
    pub fn add_figures(&mut self, now: Instant, elapsed: f64, arms: impl Iterator<Item = Figures>) {
        if now < self.figures_next {
            return;
        }
        self.figures_next = now + Duration::from_secs_f64(elapsed.max(0.0) * FIGURES_PART);
        let line = JournalLine::figures(elapsed, arms, &mut self.figures);
        self.add(&line);
    }

    /// Writes what was added.
    pub fn write(&mut self, now: Instant) {
        self.next = now + EVERY;
        self.out.write(std::mem::take(&mut self.lines));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use lockstorm_data::metrics::{Count, ServerLoad};

    /// The lines that a journal has written, without its header.
    fn lines(fill: impl FnOnce(&mut Journal)) -> Vec<JournalLine> {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut journal = Journal::of(Stream::unbounded(writer), vec![value_of(&Figures::default())]);
        fill(&mut journal);
        journal.add(&JournalLine::Second(Vec::new()));
        journal.write(Instant::now());
        journal.out.settle().unwrap();
        let mut text = vec![0; 1 << 16];
        let length = reader.read(&mut text).unwrap();
        let lines = text[..length]
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        let mut lines: Vec<JournalLine> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
        lines.pop();
        lines
    }

    fn told(lines: &[JournalLine]) -> Vec<(i64, u64)> {
        let second = |line: &JournalLine| match line {
            JournalLine::Second(points) => (points[0].time, points[0].counts[Count::Begun]),
            other => panic!("{other:?}"),
        };
        lines.iter().map(second).collect()
    }

    #[test]
    fn a_second_is_written_once_and_again_only_if_it_has_changed() {
        let mut series = Series::default();
        let count = |series: &mut Series, second, begun| {
            series.at(second).unwrap().counts = [(Count::Begun, begun)].into();
        };
        let lines = lines(|journal| {
            count(&mut series, -2, 1);
            count(&mut series, 0, 3);
            count(&mut series, 1, 4);
            journal.add_seconds(1, &[&series]);
            // The second under way is not over, and nothing is new.
            journal.add_seconds(1, &[&series]);
            count(&mut series, 0, 33);
            journal.add_seconds(2, &[&series]);
            // What was not looked at for long is written all the same.
            count(&mut series, 30, 9);
            journal.add_seconds(31, &[&series]);
        });
        let told = told(&lines);
        assert_eq!(told[..5], [(-2, 1), (-1, 0), (0, 3), (0, 33), (1, 4)]);
        assert_eq!((told[5], told.len(), told.last()), ((2, 0), 34, Some(&(30, 9))));
    }

    #[test]
    fn figures_are_told_by_what_has_changed() {
        let mut figures = Figures::default();
        let mut all = Vec::new();
        let lines = lines(|journal| {
            let now = Instant::now();
            let mut write = |figures: &Figures, second| {
                journal.add_figures(now + Duration::from_secs(second), 1.0, std::iter::once(figures.clone()));
                all.push(figures.clone());
            };
            figures.votes_at_release = vec![0, 0, 7];
            figures.outcomes.acquired = 7;
            write(&figures, 1);
            figures.votes_at_release[2] = 8;
            figures.outcomes.no_quorum = 1;
            figures.finish = Some(1.5);
            write(&figures, 3);
            figures.votes_at_release.push(1);
            figures.finish = None;
            figures.servers.push(ServerLoad::default());
            write(&figures, 5);
            write(&figures, 7);
            figures.servers[0].late = 3;
            write(&figures, 9);
        });
        let changes = lines.into_iter().map(|line| match line {
            JournalLine::Figures { mut arms, .. } => arms.remove(0),
            other => panic!("{other:?}"),
        });
        let changes: Vec<Value> = changes.collect();
        let second = json!({ "votes_at_release": { "2": 8 }, "outcomes": { "no_quorum": 1 }, "finish_us": 1_500_000 });
        assert_eq!(changes[1], second);
        assert_eq!(
            (&changes[3], &changes[4]),
            (&json!({}), &json!({ "servers": { "0": { "late": 3 } } }))
        );
        let mut read = value_of(&Figures::default());
        for (changes, figures) in changes.into_iter().zip(all) {
            change(&mut read, changes);
            assert_eq!(serde_json::from_value::<Figures>(read.clone()).unwrap(), figures);
        }
        // What another program wrote.
        for nonsense in [
            json!(null),
            json!([1]),
            json!({ "votes_at_release": { "9": 1, "x": { "y": 2 } } }),
        ] {
            change(&mut read.clone(), nonsense);
        }
    }

    #[test]
    fn without_arms_there_are_no_seconds() {
        assert!(lines(|journal| journal.add_seconds(5, &[])).is_empty());
    }
}
