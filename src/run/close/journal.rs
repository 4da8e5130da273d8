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
