use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::counts::Counts;
use super::durations::Durations;
use super::fields::{FieldName, Fields};
use super::histogram::{HistogramText, Latency, Quantiles, histogram, in_micros};
use crate::model::{CauseKind, Outcome, Outcomes};

/// The times that are measured. In the figures of a record each is a field in microseconds: `response_us`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, VariantArray, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", suffix = "_us")]
#[repr(usize)]
pub enum Time {
    /// An acquire that was granted, waiting included.
    Acquired,
    /// An acquire that ended as contended, waiting included.
    Contended,
    /// An acquire that ended without a quorum, waiting included.
    NoQuorum,
    /// An acquire that ended as expired, waiting included.
    Expired,
    /// An acquire with unknown outcome, waiting included.
    Unknown,
    /// A request from its intended start to its end.
    Response,
    /// A request from its actual start to its end.
    Service,
    /// How late the load generator was: from the intended start until the request was dealt to its app server, or until
    /// the pause of a worker was over.
    Lag,
    /// A section that had work: from the acquire to the release.
    Hold,
    /// How much longer a simulated time (a hold, a service time) took than the time that was drawn.
    Overshoot,
    /// From the verified death of an app server to the next grant of a lock that one of its workers held, by whomever.
    Takeover,
    /// What a lock's validity had to cover in such a section: from the attempt that acquired it to the end.
    Needed,
    /// How long two holders of one lock both had reason to rely on it; counted when both have left.
    Overlap,
}

impl Time {
    /// The times of acquires, one for each outcome.
    pub const ACQUIRES: [Self; 5] = [
        Self::Acquired,
        Self::Contended,
        Self::NoQuorum,
        Self::Expired,
        Self::Unknown,
    ];

    /// The times that each point has.
    pub const OF_A_POINT: [Self; 6] = [
        Self::Acquired,
        Self::Contended,
        Self::NoQuorum,
        Self::Expired,
        Self::Unknown,
        Self::Response,
    ];
}

impl FieldName for Time {
    fn place(self) -> usize {
        self as usize
    }
}

/// The quantiles of each time that is measured, in microseconds.
pub type Times = Fields<Time, Quantiles, { Time::VARIANTS.len() }>;

/// The latency by each time that a point has.
pub type Latencies = Fields<Time, Latency, { Time::VARIANTS.len() }>;

impl From<Outcome> for Time {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Acquired => Self::Acquired,
            Outcome::Contended => Self::Contended,
            Outcome::NoQuorum => Self::NoQuorum,
            Outcome::Expired => Self::Expired,
            Outcome::Unknown => Self::Unknown,
        }
    }
}

/// Locks by their number of votes, which is the index; the last element counts larger numbers too.
pub type Votes = [u64; 10];

/// Counts and distributions that can be added up.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    /// Acquires by outcome.
    pub outcomes: Outcomes,
    /// Released locks by the votes that were known at the release.
    pub votes_at_release: Votes,
    /// Released locks by the votes that they had in the end, with replies that came after the release but within the node
    /// timeout.
    pub votes_in_the_end: Votes,
    /// Why nodes gave no vote, in acquires that failed because nodes were missing; by the node's position in the lock and
    /// the cause.
    pub causes: BTreeMap<(usize, CauseKind), u64>,
    /// Plain counts.
    pub counts: Counts,
    times: [Durations; Time::VARIANTS.len()],
}

impl Sums {
    /// A distribution in microseconds; `None` if there is no value.
    pub fn time(&self, time: Time) -> Option<Cow<'_, Histogram<u64>>> {
        self.durations(time).histogram()
    }

    /// A distribution in microseconds, as it is stored.
    pub const fn durations(&self, time: Time) -> &Durations {
        &self.times[time as usize]
    }

    /// The distribution of all acquires, with any outcome.
    pub fn acquires(&self) -> Histogram<u64> {
        let mut all = histogram();
        for time in Time::ACQUIRES {
            self.durations(time).add_to(&mut all);
        }
        all
    }

    /// All distributions as they stand in records, empty ones too.
    pub fn histograms(&self) -> BTreeMap<Time, HistogramText> {
        let text = |time| HistogramText::of(self.time(time).as_deref().unwrap_or(&histogram()));
        Time::VARIANTS.iter().map(|time| (*time, text(*time))).collect()
    }

    /// Adds a value to a distribution.
    pub fn record(&mut self, time: Time, took: Duration) {
        self.times[time as usize].record(in_micros(took));
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        self.outcomes.add(&other.outcomes);
        for (sum, votes) in [
            (&mut self.votes_at_release, &other.votes_at_release),
            (&mut self.votes_in_the_end, &other.votes_in_the_end),
        ] {
            for (sum, votes) in sum.iter_mut().zip(votes) {
                *sum += votes;
            }
        }
        for (cause, n) in &other.causes {
            *self.causes.entry(*cause).or_default() += n;
        }
        self.counts.add(&other.counts);
        for (sum, part) in self.times.iter_mut().zip(&other.times) {
            sum.add(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_field_for_each_time_and_misses_none() {
        let quantiles = Quantiles {
            count: 1,
            max: 7,
            ..Quantiles::default()
        };
        let times = Times::from([(Time::Response, quantiles)]);
        let text = serde_json::to_string(&times).expect("numbers are JSON");
        assert!(text.contains("\"response_us\":{\"count\":1,"), "{text}");
        assert_eq!(serde_json::from_str::<Times>(&text).expect("its own text"), times);
        let error = serde_json::from_str::<Times>(&text.replace("\"response_us\"", "\"other\"")).expect_err("one less");
        assert!(error.to_string().contains("missing field `response_us`"), "{error}");
    }
}
