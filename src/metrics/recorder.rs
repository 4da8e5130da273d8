use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::model::{Outcome, Outcomes};

/// The largest latency that is told apart, in microseconds: ten minutes.
const LONGEST_US: u64 = 600_000_000;

/// Counts of one app server and arm. Its lock is uncontended but for the collector, which takes it ten times a second for
/// the time of a swap; an app server that is paused never holds it.
#[derive(Debug)]
pub struct Recorder(Mutex<Tally>);

/// What a recorder counted since the collector last came.
#[derive(Debug)]
pub struct Tally {
    /// Acquires by outcome.
    pub outcomes: Outcomes,
    /// Released locks by the votes they were held with.
    pub votes: [u64; 10],
    /// Votes and nodes of the newest released lock.
    pub newest_votes: Option<(usize, usize)>,
    /// Why the newest acquire failed for lack of nodes; emptied by the next acquired lock.
    pub trouble: Option<String>,
    /// Why the first of the failed requests failed.
    pub first_error: Option<String>,
    /// Microseconds of each acquire.
    pub acquire: Histogram<u64>,
    /// Microseconds from intended start to end of each request.
    pub response: Histogram<u64>,
    /// Microseconds inside the lock.
    pub hold: Histogram<u64>,
    /// Plain counts, by [`Count`].
    counts: [u64; Count::ALL],
    /// Provider calls: which cache, which key, which version they supersede (0: a cold start).
    pub provider_calls: Vec<ProviderCall>,
}

/// One call of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProviderCall {
    /// The position of the cache in the scenario.
    pub cache: u32,
    /// The key.
    pub key: u64,
    /// The version that the caller found expired; 0 when there never was one.
    pub supersedes: u64,
}

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
    /// A page beyond one of each was found in an Active list.
    DuplicatePage,
    /// A page was missing from an Active list.
    MissingPage,
    /// A lock was lost while it was held.
    LockLost,
    /// Work was dropped for a lost lock.
    Aborted,
    /// A request was refused by the fence.
    Fenced,
    /// The database or the cache failed a request.
    Error,
}

impl Count {
    const ALL: usize = Self::Error as usize + 1;
}

impl Tally {
    fn new() -> Self {
        Self {
            outcomes: Outcomes::default(),
            votes: [0; 10],
            newest_votes: None,
            trouble: None,
            first_error: None,
            acquire: histogram(),
            response: histogram(),
            hold: histogram(),
            counts: [0; Count::ALL],
            provider_calls: Vec::new(),
        }
    }

    /// One of the plain counts.
    #[must_use]
    pub const fn count(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }

    /// Makes it as new, keeping its memory.
    pub fn clear(&mut self) {
        self.outcomes = Outcomes::default();
        self.votes = [0; 10];
        self.newest_votes = None;
        self.trouble = None;
        self.first_error = None;
        for histogram in [&mut self.acquire, &mut self.response, &mut self.hold] {
            if !histogram.is_empty() {
                histogram.reset();
            }
        }
        self.counts = [0; Count::ALL];
        self.provider_calls.clear();
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
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

fn record(histogram: &mut Histogram<u64>, took: Duration) {
    let micros = u64::try_from(took.as_micros()).unwrap_or(LONGEST_US);
    // Auto-resizing histograms take any value up to the cap.
    let _ = histogram.record(micros.clamp(1, LONGEST_US));
}

impl Recorder {
    /// An empty recorder.
    #[must_use]
    pub fn new() -> Self {
        Self(Mutex::new(Tally::new()))
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        // A panic while counting leaves counts that are still counts.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one of these.
    pub fn count(&self, count: Count) {
        self.add(count, 1);
    }

    /// Counts several of these.
    pub fn add(&self, count: Count, n: u64) {
        self.tally().counts[count as usize] += n;
    }

    /// An acquire that was granted after `took`.
    pub fn acquired(&self, took: Duration) {
        let mut tally = self.tally();
        tally.outcomes.count(Outcome::Acquired);
        record(&mut tally.acquire, took);
        tally.trouble = None;
    }

    /// A lock that was held with `votes` of `nodes`, told when it is released: votes that came after the quorum count too.
    pub fn voted(&self, votes: usize, nodes: usize) {
        if nodes > 0 {
            let mut tally = self.tally();
            let last = tally.votes.len() - 1;
            tally.votes[votes.min(last)] += 1;
            tally.newest_votes = Some((votes, nodes));
        }
    }

    /// An acquire that was refused after `took`; `trouble` names the causes when nodes were lacking.
    pub fn refused(&self, took: Duration, outcome: Outcome, trouble: Option<String>) {
        let mut tally = self.tally();
        tally.outcomes.count(outcome);
        record(&mut tally.acquire, took);
        if trouble.is_some() {
            tally.trouble = trouble;
        }
    }

    /// A request that failed; `why` is asked for the first one only, until the collector comes.
    pub fn failed(&self, why: impl FnOnce() -> String) {
        let mut tally = self.tally();
        tally.counts[Count::Error as usize] += 1;
        tally.first_error.get_or_insert_with(why);
    }

    /// Time inside the lock.
    pub fn held(&self, took: Duration) {
        record(&mut self.tally().hold, took);
    }

    /// A request that ended `took` after its intended start.
    pub fn completed(&self, took: Duration) {
        let mut tally = self.tally();
        tally.counts[Count::Completed as usize] += 1;
        record(&mut tally.response, took);
    }

    /// The provider is about to be called.
    pub fn provider_call(&self, call: ProviderCall) {
        self.tally().provider_calls.push(call);
    }

    /// Exchanges what was counted for an empty tally: the collector's way to read.
    pub fn swap(&self, empty: Tally) -> Tally {
        std::mem::replace(&mut *self.tally(), empty)
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}
