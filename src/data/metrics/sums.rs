use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::counts::Counts;
use super::histogram::{histogram, in_micros};
use super::spread::Spread;
use crate::model::{CauseKind, Outcome, Outcomes};

/// The times that are measured. In the figures of a record each is a field in microseconds: `response_us`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray, IntoStaticStr)]
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
    /// A section: from the acquire to the release.
    Hold,
    /// How much longer a simulated time (a hold, a service time) took than the time that was drawn.
    Overshoot,
    /// From the verified death of an app server to the next grant of a lock that one of its workers held, by whomever.
    Takeover,
    /// What a lock's validity had to cover: from the attempt that acquired it to the end of the section.
    Needed,
}

impl Time {
    /// The times that records had from the beginning; one written before a time was there lacks its field.
    pub(super) const FIRST: usize = Self::Overshoot as usize + 1;

    /// The times of acquires, one for each outcome.
    pub const ACQUIRES: [Self; 5] = [
        Self::Acquired,
        Self::Contended,
        Self::NoQuorum,
        Self::Expired,
        Self::Unknown,
    ];
}

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
    times: [Spread; Time::VARIANTS.len()],
}

impl Sums {
    /// A distribution in microseconds; `None` if there is no value.
    #[must_use]
    pub fn time(&self, time: Time) -> Option<Cow<'_, Histogram<u64>>> {
        self.times[time as usize].histogram()
    }

    /// A distribution in microseconds, as it is stored.
    #[must_use]
    pub const fn spread(&self, time: Time) -> &Spread {
        &self.times[time as usize]
    }

    /// Adds a distribution to a histogram that resizes itself.
    pub fn add_time_to(&self, time: Time, sum: &mut Histogram<u64>) {
        self.times[time as usize].add_to(sum);
    }

    /// The distribution of all acquires, with any outcome.
    #[must_use]
    pub fn acquires(&self) -> Histogram<u64> {
        let mut all = histogram();
        for time in Time::ACQUIRES {
            self.add_time_to(time, &mut all);
        }
        all
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

    /// Empties the sums.
    pub fn clear(&mut self) {
        self.outcomes = Outcomes::default();
        self.votes_at_release = Votes::default();
        self.votes_in_the_end = Votes::default();
        self.causes.clear();
        self.counts = Counts::default();
        self.times.iter_mut().for_each(Spread::clear);
    }
}
