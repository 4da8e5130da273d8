use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::counts::Counts;
use crate::model::{CauseKind, Outcomes};

/// A quantile of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Quantile {
    P50,
    P90,
    P99,
    P999,
    Max,
}

/// A latency distribution in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// How many values were recorded.
    pub count: u64,
    /// The median.
    pub p50: u64,
    /// 90 %.
    pub p90: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// The largest value.
    pub max: u64,
}

impl Quantiles {
    /// The same of a histogram that may not be there.
    #[must_use]
    pub fn of_any(histogram: Option<&Histogram<u64>>) -> Self {
        histogram.map(Self::of).unwrap_or_default()
    }

    /// Reads them off a histogram of microseconds; all zero when it is empty.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        Self {
            count: histogram.len(),
            p50: histogram.value_at_quantile(0.5),
            p90: histogram.value_at_quantile(0.9),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            max: histogram.max(),
        }
    }

    /// One of them.
    #[must_use]
    pub const fn get(&self, quantile: Quantile) -> u64 {
        match quantile {
            Quantile::P50 => self.p50,
            Quantile::P90 => self.p90,
            Quantile::P99 => self.p99,
            Quantile::P999 => self.p999,
            Quantile::Max => self.max,
        }
    }
}

/// Provider calls per superseded value version: 1 is perfect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HitsPerExpiry {
    /// How many versions were superseded; of a paged list each page is a value of its own. Cold starts are not counted, nor
    /// are versions whose stampede was cut by the warm-up or the end.
    pub expiries: u64,
    /// The mean number of provider calls for each.
    pub mean: f64,
    /// The largest number.
    pub max: u64,
}

/// Acquires apart by their outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the variants of `Outcome`")]
pub struct ByOutcome {
    pub acquired: Quantiles,
    pub contended: Quantiles,
    pub no_quorum: Quantiles,
    pub expired: Quantiles,
    pub unknown: Quantiles,
}

/// One lock node, as an arm dealt with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeLoad {
    /// The host that it runs on, from 1.
    pub host: usize,
    /// `SET … NX PX` that it was sent.
    pub sets: u64,
    /// Extensions.
    pub extends: u64,
    /// Compare-and-deletes.
    pub deletes: u64,
    /// Why it gave no vote, in acquires that failed for lack of nodes: how often for each cause.
    pub causes: BTreeMap<CauseKind, u64>,
}

/// One app server's part in an arm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerLoad {
    /// Which, from 1.
    pub server: usize,
    /// Requests that were dealt to it (open loop) or that its workers began (closed loop).
    pub offered: u64,
    /// Requests that ended.
    pub completed: u64,
    /// Requests that were queued or under way when it was killed.
    pub dropped: u64,
    /// Requests that were begun and had not ended at the end.
    pub unfinished: u64,
    /// Requests that waited for a worker at the end of the load.
    pub never_begun: u64,
    /// Requests that began more than 10 ms after their intended start.
    pub late: u64,
    /// Its orders in the ledger.
    pub orders: u64,
    /// Time of its requests from their intended start to their end.
    pub response_us: Quantiles,
}

/// Everything counted of one arm's measured part until now: what requests did whose start (the intended one in an open
/// loop) was at second 0 or later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// What is counted one by one; in a record a field for each, named and described by the metric of the same name.
    #[serde(flatten)]
    pub counts: Counts,
    /// Acquires by outcome.
    pub outcomes: Outcomes,
    /// Released locks by the votes that were known at the release: index = votes.
    pub votes_at_release: Vec<u64>,
    /// The same locks by the votes that they had in the end: replies that came later, up to the node timeout, included.
    pub votes_in_the_end: Vec<u64>,
    /// Attempts that the acquires took.
    pub attempts: u64,
    /// Whole seconds in which acquires were refused for lack of nodes and none was granted: how long the lock was not
    /// available.
    pub refused_seconds: u64,
    /// Time of one acquire, waiting included, whatever its outcome.
    pub acquire_us: Quantiles,
    /// The same apart by outcome.
    pub acquire_us_by: ByOutcome,
    /// Time of a request from its intended start to its end.
    pub response_us: Quantiles,
    /// Time of a request from its actual start to its end.
    pub service_us: Quantiles,
    /// What the generator of load itself was late by, part of the response time.
    pub lag_us: Quantiles,
    /// Measured time inside the lock: reading, the hold, writing.
    pub hold_us: Quantiles,
    /// What a hold took beyond the time that was drawn for it: the error of the timer.
    pub overshoot_us: Quantiles,
    /// Requests that were due by now (open loop) or that workers began (closed loop): the sum of those that were completed and the next three.
    pub offered: u64,
    /// Requests that were queued or under way on an app server that was killed, or due when none was left.
    pub dropped: u64,
    /// Requests that were begun and have not ended.
    pub unfinished: u64,
    /// Requests that wait for a free worker; at the end those that never had one.
    pub never_begun: u64,
    /// Requests that ended with an answer: no error, nothing given up, dropped or fenced.
    pub answered: u64,
    /// Seconds until its last request ended, of an arm that has done all of a fixed number; none else.
    pub finish: Option<f64>,
    /// Answers a second: until its finish, or else until the load ended.
    pub throughput: f64,
    /// Whether the ledger could not be read to its end, or requests were given up that may yet have sold: orders, oversold and
    /// lost updates are then at least what is told, and units that seem to be left may be sold.
    #[serde(default)]
    pub incomplete: bool,
    /// Orders in the ledger.
    pub orders: u64,
    /// Orders beyond the initial stock, summed over the products.
    pub oversold: u64,
    /// Orders + units left − initial units, where positive, summed over the products. It is a net count and may fall: a
    /// later stale write can make up for a lost one.
    pub lost_updates: u64,
    /// The most that it ever was.
    pub lost_updates_peak: u64,
    /// Whether the whole stock is sold (`inventory`): before that, overselling cannot show in full.
    pub sold_out_all: bool,
    /// Second in which the first update was lost, by the time of the sale that proves it.
    pub first_lost_at: Option<f64>,
    /// Calls of the provider (the database behind a cache) for each superseded version.
    pub db_hits_per_expiry: HitsPerExpiry,
    /// Pages beyond one of each in lists that were said to be complete, each filling of a list counted once.
    pub duplicate_pages: u64,
    /// Pages that such lists lacked.
    pub missing_pages: u64,
    /// Locks held now.
    pub holding: u64,
    /// Locks held now with fewer votes than there are nodes.
    pub partial: u64,
    /// What each lock node was asked, for the arm; empty without nodes.
    pub nodes: Vec<NodeLoad>,
    /// What each app server did, for the arm.
    pub servers: Vec<ServerLoad>,
}
