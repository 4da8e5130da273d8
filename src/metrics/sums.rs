use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::spread::Spread;
use crate::model::{Outcome, Outcomes};

/// The largest latency that is told apart, in microseconds: ten minutes.
const LONGEST_US: u64 = 600_000_000;

/// What is counted one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Count {
    /// A request began.
    Started,
    /// A request ended, whatever its answer.
    Completed,
    /// A request began more than 10 ms after its intended start.
    Late,
    /// A request was told "sold out".
    SoldOut,
    /// An order was committed, as the worker was told; the ledger has the last word.
    Order,
    /// A read was served fresh.
    Hit,
    /// A read was served stale.
    StaleRead,
    /// A request ended without an answer.
    GaveUp,
    /// A lock was lost while it was held.
    LockLost,
    /// A section went on when the validity of its lock was over.
    Overran,
    /// Work was dropped for a lost lock.
    Aborted,
    /// A request was refused by the fence.
    Fenced,
    /// The database or the cache failed a request.
    Error,
    /// The provider was called.
    ProviderCall,
}

impl Count {
    const ALL: usize = Self::ProviderCall as usize + 1;
}

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Time {
    /// An acquire that ended so, waiting included.
    Acquired,
    /// The same.
    Contended,
    /// The same.
    NoQuorum,
    /// The same.
    Expired,
    /// The same.
    Unknown,
    /// A request from its intended start to its end.
    Response,
    /// A request from its actual start to its end.
    Service,
    /// What the generator of load was late by: from the intended start until the request was dealt to its app server, or
    /// until a worker that paused went on.
    Lag,
    /// A section: from the acquire to the release.
    Hold,
    /// What a simulated time (a hold, a service time) took beyond what was drawn.
    Overshoot,
}

impl Time {
    const ALL: usize = Self::Overshoot as usize + 1;

    /// Acquires by their outcome.
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

/// Locks by their votes: index = votes; the last one takes all beyond.
pub type Votes = [u64; 10];

/// Counts and distributions that can be added up.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    /// Acquires by outcome.
    pub outcomes: Outcomes,
    /// Released locks by the votes that were known at the release.
    pub votes_at_release: Votes,
    /// The same locks by the votes that they had in the end: replies that came later, up to the node timeout, included.
    pub votes_in_the_end: Votes,
    /// Why nodes gave no vote, in acquires that failed for lack of nodes: by the node's position in the lock and the cause.
    pub causes: BTreeMap<(usize, &'static str), u64>,
    counts: [u64; Count::ALL],
    times: [Spread; Time::ALL],
}

impl Sums {
    /// One of the counts.
    #[must_use]
    pub const fn count(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }

    pub(super) const fn add_count(&mut self, count: Count, n: u64) {
        self.counts[count as usize] += n;
    }

    /// Requests that got an answer: not an error, a refusal, or work that was dropped.
    #[must_use]
    pub const fn answered(&self) -> u64 {
        self.count(Count::Completed).saturating_sub(
            self.count(Count::GaveUp)
                + self.count(Count::Aborted)
                + self.count(Count::Fenced)
                + self.count(Count::Error),
        )
    }

    /// A distribution in microseconds; none while nothing was timed.
    #[must_use]
    pub fn time(&self, time: Time) -> Option<Cow<'_, Histogram<u64>>> {
        self.times[time as usize].histogram()
    }

    /// The same, as it is kept.
    #[must_use]
    pub const fn spread(&self, time: Time) -> &Spread {
        &self.times[time as usize]
    }

    /// Adds a distribution to a histogram that resizes by itself.
    pub fn add_time_to(&self, time: Time, sum: &mut Histogram<u64>) {
        self.times[time as usize].add_to(sum);
    }

    /// The distribution of all acquires, whatever their outcome.
    #[must_use]
    pub fn acquires(&self) -> Histogram<u64> {
        let mut all = histogram();
        Time::ACQUIRES.iter().for_each(|time| self.add_time_to(*time, &mut all));
        all
    }

    pub(super) fn record(&mut self, time: Time, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(LONGEST_US);
        self.times[time as usize].record(micros.clamp(1, LONGEST_US));
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
        for (sum, n) in self.counts.iter_mut().zip(other.counts) {
            *sum += n;
        }
        for (sum, part) in self.times.iter_mut().zip(&other.times) {
            sum.add(part);
        }
    }

    /// Makes it as new.
    pub fn clear(&mut self) {
        self.outcomes = Outcomes::default();
        self.votes_at_release = Votes::default();
        self.votes_in_the_end = Votes::default();
        self.causes.clear();
        self.counts = [0; Count::ALL];
        self.times.iter_mut().for_each(Spread::clear);
    }
}

/// An empty histogram of microseconds, three significant digits, that grows with its largest value.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    // A precision of 3 is within the 0 to 5 that the constructor accepts.
    let mut histogram = Histogram::new(3).expect("3 significant digits are valid");
    histogram.auto(true);
    histogram
}
