use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::counts::Count;
use super::grants::Grants;
use super::sums::{Sums, Time};
use super::timeline::{Part, Timeline, When};
use crate::model::{Cause, NoVote, Outcome};

/// Counts for one app server and arm. Only the collector contends for its lock, ten times a second, for as long as an exchange
/// takes; a paused app server never holds it.
#[derive(Debug)]
pub struct Recorder {
    timeline: Arc<Timeline>,
    kept: Mutex<Kept>,
}

/// What a recorder keeps until the collector's next visit.
#[derive(Debug, Default)]
struct Kept {
    tally: Tally,
    watched: Watched,
}

/// What a recorder counted since the collector's last visit.
#[derive(Debug, Default)]
pub struct Tally {
    /// The counts, one batch for each part of the run and tenth of a second; usually one or two.
    pub batches: Vec<Batch>,
    /// Granted locks, and what else shows whether locks were available.
    pub grants: Grants,
    /// Each grant of a lock that is watched.
    pub watched_grants: Vec<WatchedGrant>,
    /// Values that are not added up.
    pub newest: Newest,
}

/// The newest values of their kind, or the first.
#[derive(Debug, Default)]
pub struct Newest {
    /// Votes and nodes of the newest released lock.
    pub votes: Option<(usize, usize)>,
    /// The nodes that the newest failed acquire lacked; emptied by the next granted one.
    pub lacking: Vec<NoVote>,
    /// The error of the first request that failed in the database or the cache.
    pub first_error: Option<String>,
    /// The error of the first request that lost its database.
    pub lost_database: Option<String>,
    /// When the newest measured request ended.
    pub end: Option<Instant>,
}

/// What was counted for one part of the run in one tenth of a second.
#[derive(Debug, Default)]
pub struct Batch {
    /// The part of the run.
    pub part: Part,
    /// The tenth of a second.
    pub when: When,
    /// Counts and distributions.
    pub sums: Sums,
    /// Provider calls.
    pub provider_calls: Vec<ProviderCall>,
    /// Versions that were refilled.
    pub refills: Vec<ProviderCall>,
    /// Lists that claimed to be complete but had duplicate or missing pages.
    pub damaged_lists: Vec<DamagedList>,
    /// Fills of lists that a stall of this machine held up until their lock had expired.
    pub stalled_fills: Vec<StalledFill>,
}

/// One call to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProviderCall {
    /// The position of the cache in the scenario.
    pub cache: u32,
    /// The key.
    pub key: u64,
    /// The version that the caller found expired; 0 if there was none.
    pub supersedes: u64,
}

/// A list that claimed to be complete, but was not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamagedList {
    /// The position of the cache in the scenario.
    pub cache: u32,
    /// The key.
    pub key: u64,
    /// The version of the list: it changes each time it is filled.
    pub version: u64,
    /// How many pages there are more than once.
    pub duplicate: u64,
    /// How many pages are missing.
    pub missing: u64,
}

/// A fill of a list that outlasted its lock because of a stall of this machine, so that others filled the list meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StalledFill {
    /// The position of the cache in the scenario.
    pub cache: u32,
    /// The key.
    pub key: u64,
    /// The versions that its pages may be in.
    pub versions: RangeInclusive<u64>,
}

/// Which locks are watched, by their keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Watched {
    /// None: the usual case, which costs nothing.
    #[default]
    Nothing,
    /// Every lock: an app server is about to die, and which locks it leaves behind is not known yet.
    All,
    /// The locks with these keys.
    These(Arc<BTreeSet<Box<str>>>),
}

/// A grant of a watched lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedGrant {
    /// The key of the lock.
    pub key: Box<str>,
    /// When it was granted, in microseconds from second 0.
    pub at: i64,
}

impl Watched {
    /// Whether the lock with this key is watched.
    pub fn has(&self, key: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::All => true,
            Self::These(keys) => keys.contains(key),
        }
    }
}

impl Tally {
    /// The sums of a part of the run, over all its tenths.
    pub fn sums(&self, part: Part) -> Sums {
        let mut sums = Sums::default();
        for batch in self.batches.iter().filter(|batch| batch.part == part) {
            sums.add(&batch.sums);
        }
        sums
    }

    fn batch(&mut self, part: Part, when: When) -> (&mut Batch, &mut Newest) {
        let found = self
            .batches
            .iter()
            .rposition(|batch| batch.part == part && batch.when == when);
        let index = found.unwrap_or_else(|| {
            self.batches.push(Batch {
                part,
                when,
                ..Batch::default()
            });
            self.batches.len() - 1
        });
        (&mut self.batches[index], &mut self.newest)
    }
}

impl Recorder {
    /// An empty recorder of a run.
    pub fn new(timeline: Arc<Timeline>) -> Self {
        Self {
            timeline,
            kept: Mutex::default(),
        }
    }

    /// The timeline of the run.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// A counter for requests that belong to this part of the run.
    pub const fn of(self: &Arc<Self>, part: Part) -> Counter<'_> {
        Counter { recorder: self, part }
    }

    /// Exchanges the tally for an empty one: the way in which the collector reads.
    pub fn take(&self) -> Tally {
        std::mem::take(&mut self.kept().tally)
    }

    /// Keeps the grants of these locks one by one from now on.
    pub fn watch(&self, watched: Watched) {
        self.kept().watched = watched;
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // After a panic while counting, the counts are still valid counts.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts what one request does, each count with its time, in the part of the run that the request belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Counter<'a> {
    recorder: &'a Arc<Recorder>,
    part: Part,
}

impl Counter<'_> {
    /// The part of the run.
    pub const fn part(&self) -> Part {
        self.part
    }

    /// The recorder, for work that outlives the request.
    pub fn recorder(&self) -> Arc<Recorder> {
        Arc::clone(self.recorder)
    }

    /// The microseconds from second 0 to now, negative before it.
    pub fn micros(&self) -> i64 {
        self.recorder.timeline.micros(Instant::now())
    }

    fn put(&self, what: impl FnOnce(&mut Batch, &mut Newest)) {
        let mut kept = self.recorder.kept();
        // Read under the lock: what is counted after the collector's visit must not carry an earlier time.
        let when = self.recorder.timeline.when(Instant::now());
        let (batch, newest) = kept.tally.batch(self.part, when);
        what(batch, newest);
    }

    /// Adds one to a count.
    pub fn count(&self, count: Count) {
        self.put(|batch, _| batch.sums.counts[count] += 1);
    }

    /// Adds a value to a distribution.
    pub fn time(&self, time: Time, took: Duration) {
        self.put(|batch, _| batch.sums.record(time, took));
    }

    /// Counts an acquire that was granted after `took`.
    pub fn acquired(&self, took: Duration) {
        self.put(|batch, newest| {
            batch.sums.outcomes.count(Outcome::Acquired);
            batch.sums.record(Time::Acquired, took);
            newest.lacking.clear();
        });
    }

    /// Notes that the lock `key` was granted just now that was asked for at `asked`, whatever part of the run it belongs to. `by`
    /// is the server that granted it, if that matters.
    pub fn granted(&self, key: &str, asked: Instant, by: Option<SocketAddr>) {
        let micros = |at| self.recorder.timeline.micros(at);
        let asked = micros(asked);
        let Kept { tally, watched } = &mut *self.recorder.kept();
        // Read under the lock, as all times.
        let at = micros(Instant::now());
        tally.grants.count(asked, by);
        if watched.has(key) {
            tally.watched_grants.push(WatchedGrant { key: key.into(), at });
        }
    }

    /// Counts an acquire that was refused after `took`; `causes` says why each node gave no vote, if nodes were missing.
    pub fn refused(&self, took: Duration, outcome: Outcome, causes: &[Option<Cause>]) {
        self.put(|batch, newest| {
            batch.sums.outcomes.count(outcome);
            batch.sums.record(outcome.into(), took);
            for (node, cause) in causes.iter().enumerate() {
                if let Some(cause) = cause {
                    *batch.sums.causes.entry((node, cause.kind())).or_default() += 1;
                }
            }
            let lacking: Vec<_> = NoVote::all_of(causes).collect();
            if !lacking.is_empty() {
                newest.lacking = lacking;
            }
        });
    }

    /// Counts a lock that is released with `votes` of `nodes`, as far as they are known.
    pub fn voted(&self, votes: usize, nodes: usize) {
        if nodes > 0 {
            self.put(|batch, newest| {
                count_votes(&mut batch.sums.votes_at_release, votes);
                newest.votes = Some((votes, nodes));
            });
        }
    }

    /// Counts the votes of a released lock in the end, once all nodes have answered, or had their time to.
    pub fn voted_in_the_end(&self, votes: usize, nodes: usize) {
        if nodes > 0 {
            self.put(|batch, _| {
                count_votes(&mut batch.sums.votes_in_the_end, votes);
                batch.sums.counts[Count::BareQuorums] += u64::from(votes <= nodes / 2 + 1);
            });
        }
    }

    /// Counts a request that began `lag` after the generator should have begun it; `late` says whether that was much after
    /// its intended start.
    pub fn started(&self, lag: Duration, late: bool) {
        self.put(|batch, _| {
            batch.sums.counts[Count::Begun] += 1;
            batch.sums.record(Time::Lag, lag);
            if late {
                batch.sums.counts[Count::Late] += 1;
            }
        });
    }

    /// Counts the end of a request that was due at `intended` and began at `started`, and as what it counts if it got no answer:
    /// at once, so that no reader finds one without the other.
    pub fn ended(&self, intended: Instant, started: Instant, failure: Option<Count>) {
        let (now, part) = (Instant::now(), self.part);
        self.put(|batch, newest| {
            batch.sums.counts[Count::Completed] += 1;
            if let Some(failure) = failure {
                batch.sums.counts[failure] += 1;
            }
            batch.sums.record(Time::Response, now.duration_since(intended));
            batch.sums.record(Time::Service, now.duration_since(started));
            if part == Part::Measured {
                newest.end = newest.end.max(Some(now));
            }
        });
    }

    /// Notes an error of the database or the cache.
    pub fn saw_error(&self, error: impl FnOnce() -> String) {
        self.put(|_, newest| {
            newest.first_error.get_or_insert_with(error);
        });
    }

    /// Notes that the database was lost under a request.
    pub fn lost_database(&self, error: impl FnOnce() -> String) {
        self.put(|_, newest| {
            newest.lost_database.get_or_insert_with(error);
        });
    }

    /// Counts a call to the provider that is about to be made.
    pub fn provider_call(&self, call: ProviderCall) {
        self.put(|batch, _| {
            batch.sums.counts[Count::DbHits] += 1;
            batch.provider_calls.push(call);
        });
    }

    /// Counts a call whose value is now in the cache.
    pub fn refilled(&self, call: ProviderCall) {
        self.put(|batch, _| batch.refills.push(call));
    }

    /// Counts a list that claims to be complete but has duplicate or missing pages.
    pub fn damaged_list(&self, list: DamagedList) {
        self.put(|batch, _| batch.damaged_lists.push(list));
    }

    /// Notes a fill that a stall of this machine held up until its lock had expired.
    pub fn stalled_fill(&self, fill: StalledFill) {
        self.put(|batch, _| batch.stalled_fills.push(fill));
    }
}

fn count_votes(counts: &mut super::sums::Votes, votes: usize) {
    counts[votes.min(counts.len() - 1)] += 1;
}
