//! What the tasks of one app server count: histograms for each phase, one set for each thread.
//!
//! The histogram is that of runs (`metrics`); the counts are not. A run counts requests of a workload in microseconds, by tenths
//! of a second, and is collected while it goes on. A round counts bare cycles in nanoseconds, by phase, and is read once: a
//! peer that makes 100,000 cycles a second must not pay for more.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::client::Refused;
use lockstorm_data::metrics::{histogram, in_nanos};

/// A part of a round whose figures are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Healthy nodes, before any is broken.
    Baseline,
    /// The measured part.
    Measured,
}

impl Phase {
    pub const ALL: usize = 2;
}

/// Counts of one phase.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    /// Nanoseconds of each granted acquire; acquires that never ended count with the time that they had waited.
    pub acquire: Histogram<u64>,
    /// Nanoseconds of each refused acquire.
    pub refusal: Histogram<u64>,
    /// Nanoseconds of the releases.
    pub release: Histogram<u64>,
    /// The total time between acquires and releases.
    pub held: Duration,
    /// Acquires that had not ended when the round did.
    pub unfinished: u64,
    /// Cycles that ended in the phase.
    pub cycles: u64,
    /// Refused acquires by kind.
    pub refused: BTreeMap<&'static str, u64>,
    /// Why nodes gave no vote for refused acquires, if the client says so.
    pub causes: BTreeMap<&'static str, u64>,
    /// The message of the first refusal.
    pub refusal_text: Option<String>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            acquire: histogram(),
            refusal: histogram(),
            release: histogram(),
            held: Duration::ZERO,
            unfinished: 0,
            cycles: 0,
            refused: BTreeMap::new(),
            causes: BTreeMap::new(),
            refusal_text: None,
        }
    }
}

/// One cycle; each time has the phase that counts it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cycle {
    pub acquire: Option<(Phase, Duration)>,
    pub release: Option<(Phase, Duration)>,
    /// The time from acquire to release; counted with the acquire.
    pub held: Duration,
    /// The phase in which the cycle ended.
    pub ended: Option<Phase>,
}

impl Tally {
    /// Counts a refused acquire.
    pub fn refuse(&mut self, took: Duration, refused: Refused) {
        record(&mut self.refusal, took);
        *self.refused.entry(refused.kind).or_default() += 1;
        for cause in refused.causes {
            *self.causes.entry(cause).or_default() += 1;
        }
        self.refusal_text.get_or_insert(refused.text);
    }

    /// Counts an acquire that has waited for `waited` and has not ended.
    pub fn leave_unfinished(&mut self, waited: Duration) {
        record(&mut self.acquire, waited);
        self.unfinished += 1;
    }

    /// Adds the counts of another thread or app server.
    pub fn add(&mut self, other: &Self) {
        for (sum, one) in [
            (&mut self.acquire, &other.acquire),
            (&mut self.refusal, &other.refusal),
            (&mut self.release, &other.release),
        ] {
            // Both histograms resize themselves and have the same precision.
            let _ = sum.add(one);
        }
        self.held += other.held;
        self.unfinished += other.unfinished;
        self.cycles += other.cycles;
        for (sums, counts) in [(&mut self.refused, &other.refused), (&mut self.causes, &other.causes)] {
            for (name, n) in counts {
                *sums.entry(name).or_default() += n;
            }
        }
        if self.refusal_text.is_none() {
            self.refusal_text.clone_from(&other.refusal_text);
        }
    }
}

/// Counts a time. The histogram resizes itself, so it takes any value.
fn record(histogram: &mut Histogram<u64>, took: Duration) {
    let _ = histogram.record(in_nanos(took));
}

thread_local! {
    /// The share of every recorder that belongs to this thread.
    static SHARE: Cell<usize> = const { Cell::new(0) };
}

/// Gives this thread its own share of every recorder. A thread without one uses the first.
#[cfg(feature = "peers")]
pub(super) fn take_share(index: usize) {
    SHARE.set(index);
}

/// The tallies of one app server. Each thread of its runtime has its own share, so that its mutex is never contended.
#[derive(Debug)]
pub(super) struct Recorder(Box<[Mutex<[Tally; Phase::ALL]>]>);

impl Recorder {
    /// A recorder for a runtime with this many threads.
    pub fn new(threads: usize) -> Self {
        Self((0..threads.max(1)).map(|_| Mutex::default()).collect())
    }

    /// Counts a cycle.
    pub fn cycle(&self, cycle: &Cycle) {
        self.with(|tallies| {
            if let Some((phase, took)) = cycle.acquire {
                let tally = &mut tallies[phase as usize];
                record(&mut tally.acquire, took);
                tally.held += cycle.held;
            }
            if let Some((phase, took)) = cycle.release {
                record(&mut tallies[phase as usize].release, took);
            }
            if let Some(phase) = cycle.ended {
                tallies[phase as usize].cycles += 1;
            }
        });
    }

    /// Counts a refused acquire.
    pub fn refused(&self, phase: Phase, took: Duration, refused: Refused) {
        self.with(|tallies| tallies[phase as usize].refuse(took, refused));
    }

    fn with(&self, count: impl FnOnce(&mut [Tally; Phase::ALL])) {
        let share = &self.0[SHARE.get() % self.0.len()];
        // After a panic while counting, the counts are still valid counts.
        count(&mut share.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The sum of all shares.
    pub fn total(&self) -> [Tally; Phase::ALL] {
        let mut total: [Tally; Phase::ALL] = Default::default();
        for share in &self.0 {
            let tallies = share.lock().unwrap_or_else(PoisonError::into_inner);
            for (sum, tally) in total.iter_mut().zip(tallies.iter()) {
                sum.add(tally);
            }
        }
        total
    }
}
