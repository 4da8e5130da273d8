use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::counts::Count;
use super::sums::{Sums, Time};
use super::timeline::{Part, Timeline, When};
use crate::model::{Cause, NoVote, Outcome};

/// Counts of one app server and arm. Its lock is uncontended but for the collector, which takes it ten times a second for
/// the time of a swap; an app server that is paused never holds it.
#[derive(Debug)]
pub struct Recorder {
    timeline: Arc<Timeline>,
    tally: Mutex<Tally>,
}

/// What a recorder counted since the collector last came.
#[derive(Debug, Default)]
pub struct Tally {
    /// What was counted, apart by the part of the run and by tenths of a second; usually one or two.
    pub pieces: Vec<Piece>,
    /// Cleared pieces, to be filled again.
    spare: Vec<Piece>,
    /// What is not summed up.
    pub newest: Newest,
}

/// The newest of its kind, or the first.
#[derive(Debug, Default)]
pub struct Newest {
    /// Votes and nodes of the newest released lock.
    pub votes: Option<(usize, usize)>,
    /// The nodes that the newest acquire lacked which failed for that; emptied by the next acquired lock.
    pub lacking: Vec<NoVote>,
    /// What the first request that failed in the database or the cache was told.
    pub first_error: Option<String>,
    /// When the newest measured request ended.
    pub end: Option<Instant>,
}

/// What was counted of one part of the run in one tenth of a second.
#[derive(Debug)]
pub struct Piece {
    /// The part of the run.
    pub part: Part,
    /// The tenth of a second.
    pub when: When,
    /// Counts and distributions.
    pub sums: Sums,
    /// Calls of the provider.
    pub provider_calls: Vec<ProviderCall>,
    /// Versions that were filled anew.
    pub refills: Vec<ProviderCall>,
    /// Lists that claimed to be complete and were not as they should be.
    pub damaged_lists: Vec<DamagedList>,
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

/// A list that was said to be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamagedList {
    /// The position of the cache in the scenario.
    pub cache: u32,
    /// The key.
    pub key: u64,
    /// Which filling of it.
    pub version: u64,
    /// Pages beyond one of each.
    pub duplicate: u64,
    /// Pages that are not there.
    pub missing: u64,
}

impl Tally {
    /// The sums of a part, whenever it was counted.
    #[must_use]
    pub fn sums(&self, part: Part) -> Sums {
        let mut sums = Sums::default();
        for piece in self.pieces.iter().filter(|piece| piece.part == part) {
            sums.add(&piece.sums);
        }
        sums
    }

    /// Makes it as new, keeping some of its memory.
    pub fn clear(&mut self) {
        for mut piece in self.pieces.drain(..) {
            piece.clear();
            // Who was paused for long may have left many.
            if self.spare.len() < 4 {
                self.spare.push(piece);
            }
        }
        self.newest = Newest::default();
    }

    fn piece(&mut self, part: Part, when: When) -> (&mut Piece, &mut Newest) {
        let found = self
            .pieces
            .iter()
            .rposition(|piece| piece.part == part && piece.when == when);
        let index = found.unwrap_or_else(|| {
            let mut piece = self.spare.pop().unwrap_or_else(Piece::new);
            (piece.part, piece.when) = (part, when);
            self.pieces.push(piece);
            self.pieces.len() - 1
        });
        (&mut self.pieces[index], &mut self.newest)
    }
}

impl Piece {
    fn new() -> Self {
        Self {
            part: Part::WarmUp,
            when: When::AfterEnd,
            sums: Sums::default(),
            provider_calls: Vec::new(),
            refills: Vec::new(),
            damaged_lists: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.sums.clear();
        self.provider_calls.clear();
        self.refills.clear();
        self.damaged_lists.clear();
    }
}

impl Recorder {
    /// An empty recorder of a run.
    #[must_use]
    pub fn new(timeline: Arc<Timeline>) -> Self {
        Self {
            timeline,
            tally: Mutex::default(),
        }
    }

    /// When second 0 is and when the load ended.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Counts for requests that belong to this part of the run.
    #[must_use]
    pub const fn of(self: &Arc<Self>, part: Part) -> Counter<'_> {
        Counter { recorder: self, part }
    }

    /// Exchanges what was counted for an empty tally: the collector's way to read.
    pub fn swap(&self, empty: Tally) -> Tally {
        std::mem::replace(&mut *self.tally(), empty)
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        // A panic while counting leaves counts that are still counts.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts what one request does, with the time of each count, in the part of the run that the request belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Counter<'a> {
    recorder: &'a Arc<Recorder>,
    part: Part,
}

impl Counter<'_> {
    /// The part of the run.
    #[must_use]
    pub const fn part(&self) -> Part {
        self.part
    }

    /// Where it counts, for what outlives the request.
    #[must_use]
    pub fn recorder(&self) -> Arc<Recorder> {
        Arc::clone(self.recorder)
    }

    /// The microseconds from second 0 to now, negative before it.
    #[must_use]
    pub fn micros(&self) -> i64 {
        self.recorder.timeline.micros(Instant::now())
    }

    fn put(&self, what: impl FnOnce(&mut Piece, &mut Newest)) {
        let mut tally = self.recorder.tally();
        // Read under the lock: what is counted after the collector came is not of a time before it.
        let when = self.recorder.timeline.when(Instant::now());
        let (piece, newest) = tally.piece(self.part, when);
        what(piece, newest);
    }

    /// Counts one of these.
    pub fn count(&self, count: Count) {
        self.put(|piece, _| piece.sums.counts[count] += 1);
    }

    /// Times one of these.
    pub fn time(&self, time: Time, took: Duration) {
        self.put(|piece, _| piece.sums.record(time, took));
    }

    /// An acquire that was granted after `took`.
    pub fn acquired(&self, took: Duration) {
        self.put(|piece, newest| {
            piece.sums.outcomes.count(Outcome::Acquired);
            piece.sums.record(Time::Acquired, took);
            newest.lacking.clear();
        });
    }

    /// An acquire that was refused after `took`; `causes` say why each node gave no vote, when nodes were lacking.
    pub fn refused(&self, took: Duration, outcome: Outcome, causes: &[Option<Cause>]) {
        self.put(|piece, newest| {
            piece.sums.outcomes.count(outcome);
            piece.sums.record(outcome.into(), took);
            for (node, cause) in causes.iter().enumerate() {
                if let Some(cause) = cause {
                    *piece.sums.causes.entry((node, cause.kind())).or_default() += 1;
                }
            }
            let lacking: Vec<_> = NoVote::all_of(causes).collect();
            if !lacking.is_empty() {
                newest.lacking = lacking;
            }
        });
    }

    /// A lock that is released with `votes` of `nodes`, as far as they are known.
    pub fn voted(&self, votes: usize, nodes: usize) {
        if nodes > 0 {
            self.put(|piece, newest| {
                count_votes(&mut piece.sums.votes_at_release, votes);
                newest.votes = Some((votes, nodes));
            });
        }
    }

    /// The same lock, when all nodes have answered or had their time to.
    pub fn voted_in_the_end(&self, votes: usize, nodes: usize) {
        if nodes > 0 {
            self.put(|piece, _| {
                count_votes(&mut piece.sums.votes_in_the_end, votes);
            });
        }
    }

    /// A request began `lag` after the generator should have begun it, and `late` after its intended start.
    pub fn started(&self, lag: Duration, late: bool) {
        self.put(|piece, _| {
            piece.sums.counts[Count::Begun] += 1;
            piece.sums.record(Time::Lag, lag);
            if late {
                piece.sums.counts[Count::Late] += 1;
            }
        });
    }

    /// A request that was to begin at `intended` and began at `started` has ended.
    pub fn completed(&self, intended: Instant, started: Instant) {
        let (now, part) = (Instant::now(), self.part);
        self.put(|piece, newest| {
            piece.sums.counts[Count::Completed] += 1;
            piece.sums.record(Time::Response, now.duration_since(intended));
            piece.sums.record(Time::Service, now.duration_since(started));
            if part == Part::Measured {
                newest.end = newest.end.max(Some(now));
            }
        });
    }

    /// A request failed in the database or the cache.
    pub fn failed(&self, error: impl FnOnce() -> String) {
        self.put(|piece, newest| {
            piece.sums.counts[Count::Errors] += 1;
            newest.first_error.get_or_insert_with(error);
        });
    }

    /// The provider is about to be called.
    pub fn provider_call(&self, call: ProviderCall) {
        self.put(|piece, _| {
            piece.sums.counts[Count::DbHits] += 1;
            piece.provider_calls.push(call);
        });
    }

    /// What the call was made for is in the cache.
    pub fn refilled(&self, call: ProviderCall) {
        self.put(|piece, _| piece.refills.push(call));
    }

    /// A list that claims to be complete has too much or too little.
    pub fn damaged_list(&self, list: DamagedList) {
        self.put(|piece, _| piece.damaged_lists.push(list));
    }
}

fn count_votes(counts: &mut super::sums::Votes, votes: usize) {
    counts[votes.min(counts.len() - 1)] += 1;
}
