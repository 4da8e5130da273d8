//! The journal of a run: JSON Lines that are written while it goes on.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::record::Record;
use lockstorm_base::output::Stream;
use lockstorm_data::facts::Event;
use lockstorm_data::history::DoubleHold;
use lockstorm_data::metrics::{Figures, Point, Series};
use lockstorm_data::model::in_us;

/// How often lines are written.
const EVERY: Duration = Duration::from_secs(1);
/// Figures are among them as often as a part of the time that has passed: in six busy arms 500 numbers change every second.
const FIGURES_PART: f64 = 1.0 / 300.0;
/// How many seconds later a second may still change: the ledger is read a little later.
const LATE: i64 = 10;

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
pub(super) fn value_of(figures: &Figures) -> Value {
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

    use super::super::recovered::change;
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
