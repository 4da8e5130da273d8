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
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The largest value.
    pub max: u64,
}

impl Quantiles {
    /// The quantiles of a histogram; all zero if there is none.
    #[must_use]
    pub fn of_any(histogram: Option<&Histogram<u64>>) -> Self {
        histogram.map(Self::of).unwrap_or_default()
    }

    /// The quantiles of a histogram of microseconds; all zero if it is empty.
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

    /// The value of one quantile.
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

/// Provider calls for each superseded version of a value: 1 is perfect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HitsPerExpiry {
    /// How many versions were superseded; in a paged list each page is a value of its own. Cold starts are not counted,
    /// nor are versions whose stampede was cut in two by the start or the end of the measured part.
    pub expiries: u64,
    /// The mean number of provider calls for a version.
    pub mean: f64,
    /// The largest number of provider calls for a version.
    pub max: u64,
}

/// Acquire times, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the variants of `Outcome`")]
pub struct ByOutcome {
    pub acquired: Quantiles,
    pub contended: Quantiles,
    pub no_quorum: Quantiles,
    pub expired: Quantiles,
    pub unknown: Quantiles,
}

/// One lock node, as an arm used it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeLoad {
    /// The host that it runs on, from 1.
    pub host: usize,
    /// How many `SET … NX PX` commands it was sent.
    pub sets: u64,
    /// How many extensions it was sent.
    pub extends: u64,
    /// How many compare-and-deletes it was sent.
    pub deletes: u64,
    /// Why it gave no vote, in acquires that failed because nodes were missing: how often for each cause.
    pub causes: BTreeMap<CauseKind, u64>,
}

/// One app server's part in an arm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerLoad {
    /// Its number, from 1.
    pub server: usize,
    /// Requests that were dealt to it (open loop) or that its workers began (closed loop).
    pub offered: u64,
    /// Requests that ended.
    pub completed: u64,
    /// Requests that were queued or under way when it was killed.
    pub dropped: u64,
    /// Requests that were begun and had not ended at the end.
    pub unfinished: u64,
    /// Requests that still waited for a worker at the end of the load.
    pub never_begun: u64,
    /// Requests that began more than 10 ms after their intended start.
    pub late: u64,
    /// Its orders in the ledger.
    pub orders: u64,
    /// Response times of its requests: from their intended start to their end.
    pub response_us: Quantiles,
}

/// The figures of one arm's measured part until now: what was done by requests whose start (in an open loop the intended
/// one) was at second 0 or later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Plain counts. A record has a field for each, named and described by the metric of the same name.
    #[serde(flatten)]
    pub counts: Counts,
    /// Acquires by outcome.
    pub outcomes: Outcomes,
    /// Released locks by the votes that were known at the release: index = votes.
    pub votes_at_release: Vec<u64>,
    /// The same locks by the votes that they had in the end, with replies that came later but within the node timeout.
    pub votes_in_the_end: Vec<u64>,
    /// How many attempts the acquires took.
    pub attempts: u64,
    /// Whole seconds in which acquires were refused because nodes were missing, and none was granted: how long the lock
    /// was not available.
    pub refused_seconds: u64,
    /// Time of an acquire with any outcome, waiting included.
    pub acquire_us: Quantiles,
    /// The same by outcome.
    pub acquire_us_by: ByOutcome,
    /// Time of a request from its intended start to its end.
    pub response_us: Quantiles,
    /// Time of a request from its actual start to its end.
    pub service_us: Quantiles,
    /// How late the load generator itself was; part of the response time.
    pub lag_us: Quantiles,
    /// Measured time inside the lock: reading, the hold, writing.
    pub hold_us: Quantiles,
    /// How much longer a hold took than the time that was drawn for it: the error of the timer.
    pub overshoot_us: Quantiles,
    /// Requests that were due by now (open loop) or that workers began (closed loop): the sum of the completed ones and of
    /// the next three fields.
    pub offered: u64,
    /// Requests that were queued or under way on an app server when it was killed, or due when no app server was left.
    pub dropped: u64,
    /// Requests that were begun and have not ended.
    pub unfinished: u64,
    /// Requests that wait for a free worker; at the end, those that never had one.
    pub never_begun: u64,
    /// Requests that ended with an answer: not with an error, and not given up, dropped or fenced.
    pub answered: u64,
    /// Seconds until the arm's last request ended, if it has done all of a fixed number of requests; otherwise null.
    pub finish: Option<f64>,
    /// Answers a second, until the arm's finish or otherwise until the load ended.
    pub throughput: f64,
    /// Whether the ledger could not be read to its end, or requests were given up that may still have sold something. Then
    /// orders, oversold and lost updates are lower bounds, and units that seem to be left may be sold.
    #[serde(default)]
    pub incomplete: bool,
    /// Orders in the ledger.
    pub orders: u64,
    /// Orders beyond the initial stock, summed over the products.
    pub oversold: u64,
    /// Orders + units left − initial units, where that is positive, summed over the products. It is a net count and may
    /// fall: a later stale write can make up for a lost one.
    pub lost_updates: u64,
    /// The largest value that it ever had.
    pub lost_updates_peak: u64,
    /// Whether the whole stock is sold (`inventory`): before that, overselling cannot show in full.
    pub sold_out_all: bool,
    /// The second in which the first update was lost, by the time of the sale that proves it.
    pub first_lost_at: Option<f64>,
    /// Calls to the provider (the database behind a cache) for each superseded version.
    pub db_hits_per_expiry: HitsPerExpiry,
    /// Pages that are in a list more than once although it claimed to be complete; each filling of a list is counted once.
    pub duplicate_pages: u64,
    /// Pages that are missing in such lists.
    pub missing_pages: u64,
    /// Locks held now.
    pub holding: u64,
    /// Locks held now with fewer votes than there are nodes.
    pub partial: u64,
    /// One for each lock node of the arm; empty if it uses none.
    pub nodes: Vec<NodeLoad>,
    /// One for each app server.
    pub servers: Vec<ServerLoad>,
}
