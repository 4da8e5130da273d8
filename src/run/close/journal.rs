//! The journal of a run: JSON Lines that are written while it goes on, and from which its record is read if it was killed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::record::Record;
use lockstorm_base::output::Stream;
use lockstorm_data::metrics::{Figures, Point, Series};
use lockstorm_data::model::{Event, EventKind, in_us};

/// How often lines are written.
const EVERY: Duration = Duration::from_secs(1);
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
    /// The figures of all arms.
    Figures {
        /// When, in seconds.
        #[serde(rename = "elapsed_us", with = "in_us")]
        elapsed: f64,
        /// Those of each arm.
        arms: Vec<Figures>,
    },
}

impl JournalLine {
    /// Whether it is the first line.
    pub const fn is_header(&self) -> bool {
        matches!(self, Self::Header(_))
    }
}

impl Record {
    /// Takes in a line of its journal; the first one is the record itself.
    pub fn take(&mut self, line: JournalLine) {
        match line {
            // Only the first line is one.
            JournalLine::Header(_) => {}
            JournalLine::Second(points) => {
                for (arm, point) in self.arms.iter_mut().zip(points) {
                    if let Some(place) = arm.series.at(point.time) {
                        *place = point;
                    }
                }
            }
            JournalLine::Event(event) => match self.events.binary_search_by_key(&event.id, |there| there.id) {
                Ok(place) => self.events[place] = event,
                Err(place) => self.events.insert(place, event),
            },
            JournalLine::Figures { elapsed, arms } => {
                self.elapsed = elapsed.max(0.0);
                for (arm, figures) in self.arms.iter_mut().zip(arms) {
                    arm.figures = figures;
                }
            }
        }
    }

    /// The record of a run that was killed, once all lines of its journal were taken in.
    #[must_use]
    pub fn without_end(mut self) -> Self {
        let warning = |event: &Event| matches!(event.kind, EventKind::Warning).then(|| event.text.clone());
        self.warnings = self.events.iter().filter_map(warning).collect();
        self.partial.push(format!(
            "the run was killed before it had made its record: this is what its journal says until second {:.0}",
            self.elapsed
        ));
        self
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    out: Stream,
    next: Instant,
    /// The newest seconds, as they were written.
    written: BTreeMap<i64, Vec<Point>>,
    lines: Vec<u8>,
}

impl Journal {
    /// Begins with the header.
    pub fn begin(out: Stream, header: Record) -> Self {
        let mut journal = Self {
            out,
            next: Instant::now(),
            written: BTreeMap::new(),
            lines: Vec::new(),
        };
        journal.add(&JournalLine::Header(Box::new(header)));
        journal
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
    use lockstorm_data::metrics::Count;

    /// The lines that a journal has written, without its header.
    fn lines(fill: impl FnOnce(&mut Journal)) -> Vec<JournalLine> {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut journal = Journal {
            out: Stream::unbounded(writer),
            next: Instant::now(),
            written: BTreeMap::new(),
            lines: Vec::new(),
        };
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
    fn without_arms_there_are_no_seconds() {
        assert!(lines(|journal| journal.add_seconds(5, &[])).is_empty());
    }
}
