//! The record: everything one run produced, one JSON file. `docs` of each field are the format's documentation.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use hdrhistogram::Histogram;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::lab::NodeSettings;
use crate::metrics::{Figures, HistogramText, NotAHistogram, Point, Quantiles, Series, Time, histogram};
use crate::model::{CheckResult, Event};
use crate::scenario::Scenario;

/// Everything one run produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this format: [`Record::FORMAT`].
    pub format: u32,
    /// The version of lockstorm.
    pub lockstorm: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// Second 0 of the measured part by the clocks of the host; none if it was stopped before.
    pub second_zero: Option<SecondZero>,
    /// The scenario as run, overrides included.
    pub scenario: Scenario,
    /// The same as a scenario file, to run it again.
    pub scenario_toml: String,
    /// The seed.
    pub seed: u64,
    /// Where it ran.
    pub machine: Machine,
    /// The servers as they were started.
    pub nodes: Vec<NodeSettings>,
    /// The timeouts of the clients.
    pub timeouts: Timeouts,
    /// Seconds that the measured part took.
    pub elapsed: f64,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Why it proves nothing good, or one of its arms does not: what was lost or is missing, a clock that stepped, faults of the
    /// scenario that did not take effect, arms with too many failed requests. Empty when all went as it should.
    pub inconclusive: Vec<String>,
    /// What could not be read or finished when the run ended, a sentence each: requests that were given up without an answer,
    /// books that could not be closed. Figures and books are what was known by then. Empty when the record is whole.
    #[serde(default)]
    pub partial: Vec<String>,
    /// One for each arm, in the scenario's order.
    pub arms: Vec<ArmRecord>,
    /// How long each lock node took to answer; empty if no arm uses any.
    pub round_trips: Vec<RoundTripRecord>,
    /// The expectations of the scenario and what became of them.
    pub expectations: Vec<CheckedExpectation>,
    /// Every event.
    pub events: Vec<Event>,
    /// What the reader should know: a fault that did not take effect, a host clock that stepped, stock that did not sell out.
    pub warnings: Vec<String>,
}

impl Record {
    /// The version of the format that this program writes.
    pub const FORMAT: u32 = 3;
}

/// An instant by the clocks of the host: logs of other programs can be laid beside the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondZero {
    /// The wall clock (`CLOCK_REALTIME`), RFC 3339 in UTC, to the microsecond.
    pub wall: String,
    /// `CLOCK_MONOTONIC` in microseconds: one clock for all processes of a machine, until it restarts.
    pub monotonic_us: i64,
}

impl SecondZero {
    /// `origin` by the clocks of the host, read now.
    pub(super) fn at(origin: Instant) -> Self {
        let (now, wall) = (Instant::now(), SystemTime::now());
        let monotonic = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
        let ahead = origin.saturating_duration_since(now);
        let behind = now.saturating_duration_since(origin);
        Self {
            wall: humantime::format_rfc3339_micros(wall + ahead - behind).to_string(),
            monotonic_us: i64::try_from((monotonic + ahead).saturating_sub(behind).as_micros()).unwrap_or(i64::MAX),
        }
    }
}

/// Where a run took place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The operating system and its release.
    pub os: String,
    /// The processor architecture.
    pub arch: String,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Memory in bytes; none where it can't be told.
    pub memory: Option<u64>,
}

/// The timeouts of the clients, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeouts {
    /// Connecting to a lock node.
    pub connect_ms: f64,
    /// One node's reply, for each arm by name.
    pub node_ms: Vec<(String, f64)>,
    /// A reply of the cache node.
    pub cache_ms: f64,
}

/// One arm of a record: its figures and the same second by second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmRecord {
    /// Its name.
    pub name: String,
    /// Its lock, in words.
    pub lock: String,
    /// Its TTL in milliseconds.
    pub ttl_ms: f64,
    /// Why nothing good can be said of it, whatever its figures are.
    pub doubt: Option<String>,
    /// Why the first of its failed requests failed.
    pub first_error: Option<String>,
    /// Everything counted.
    #[serde(flatten)]
    pub figures: Figures,
    /// Each of its times as a whole histogram of microseconds; what was never timed is not there.
    pub histograms: BTreeMap<Time, HistogramText>,
    /// One point a second.
    pub series: Series,
    /// What was counted after the load had ended, while the workers finished; its `second` says nothing. Together with the
    /// points from second 0 on it adds up to the figures.
    pub after_end: Point,
}

impl ArmRecord {
    /// One of its times in microseconds; empty if it was never timed.
    ///
    /// # Errors
    /// Somebody else wrote the record, and this is not a histogram.
    pub fn histogram(&self, time: Time) -> Result<Histogram<u64>, NotAHistogram> {
        self.histograms
            .get(&time)
            .map_or_else(|| Ok(histogram()), HistogramText::decode)
    }

    /// The time of all acquires in microseconds, whatever their outcome.
    ///
    /// # Errors
    /// Somebody else wrote the record, and one of them is not a histogram.
    pub fn acquires(&self) -> Result<Histogram<u64>, NotAHistogram> {
        let mut all = histogram();
        for time in Time::ACQUIRES {
            // It resizes by itself: no value is out of range.
            let _ = all.add(self.histogram(time)?);
        }
        Ok(all)
    }
}

/// How long one lock node took to answer in the measured part: from the writing of each command to its reply, of all app servers
/// and arms. What the node never answered is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTripRecord {
    /// The host that it runs on, from 1.
    pub host: usize,
    /// Its quantiles in microseconds.
    pub quantiles_us: Quantiles,
    /// All of it, in microseconds.
    pub histogram: HistogramText,
}

/// An expectation and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckedExpectation {
    /// As in the scenario: `redlock.oversold == 0`.
    pub expectation: String,
    /// The figure it was held against (durations in microseconds).
    pub value: f64,
    /// Whether it held.
    pub result: CheckResult,
    /// Why, in one sentence.
    pub text: String,
}
