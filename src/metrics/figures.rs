use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::model::Outcomes;
use crate::scenario::Metric;

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
}

/// Provider calls per superseded value version: 1 is perfect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HitsPerExpiry {
    /// How many versions were superseded (cold starts are not counted).
    pub expiries: u64,
    /// The mean number of provider calls for each.
    pub mean: f64,
    /// The largest number.
    pub max: u64,
}

/// Everything counted of one arm, from the start of the measured part until now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Acquires by outcome.
    pub outcomes: Outcomes,
    /// Released locks by the votes they were held with, those that came after the quorum included: index = votes.
    pub votes: Vec<u64>,
    /// Time of one acquire, waiting included, whatever its outcome.
    pub acquire_us: Quantiles,
    /// Time of a request from its intended start to its end.
    pub response_us: Quantiles,
    /// Measured time inside the lock.
    pub hold_us: Quantiles,
    /// Requests that the schedule called for by now (open loop) or that workers began (closed loop).
    pub offered: u64,
    /// Requests that ended.
    pub completed: u64,
    /// Requests that began more than 10 ms after their intended start (open loop).
    pub late: u64,
    /// Completed requests a second.
    pub throughput: f64,
    /// Orders in the ledger.
    pub orders: u64,
    /// Orders beyond the initial stock, summed over the products.
    pub oversold: u64,
    /// Orders + units left − initial units, where positive, summed over the products.
    pub lost_updates: u64,
    /// Requests that were told "sold out".
    pub sold_out: u64,
    /// Calls of the provider (the database behind a cache).
    pub db_hits: u64,
    /// The same for each superseded version.
    pub db_hits_per_expiry: HitsPerExpiry,
    /// Reads served fresh from the cache.
    pub hits: u64,
    /// Reads served with stale data while somebody else filled.
    pub stale_reads: u64,
    /// Requests that ended without an answer because the lock was not to be had.
    pub gave_up: u64,
    /// Pages that an Active list held beyond one of each, summed over the lists read.
    pub duplicate_pages: u64,
    /// Pages that an Active list lacked, summed over the lists read.
    pub missing_pages: u64,
    /// Locks lost while they were held, as the lock engine told the holder.
    pub locks_lost: u64,
    /// Work dropped because the holder heard of the loss in time.
    pub aborted: u64,
    /// Requests refused by the fence: a newer token had been there.
    pub fenced: u64,
    /// Requests that failed in the database or the cache.
    pub errors: u64,
    /// Locks held now.
    pub holding: u64,
    /// Locks held now with fewer votes than there are nodes.
    pub partial: u64,
}

impl Figures {
    /// The figure of this name; durations in microseconds.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // counts beyond 2^53 do not occur in a run
    pub fn get(&self, metric: Metric) -> f64 {
        let count = match metric {
            Metric::Acquired => self.outcomes.acquired,
            Metric::Contended => self.outcomes.contended,
            Metric::NoQuorum => self.outcomes.no_quorum,
            Metric::Expired => self.outcomes.expired,
            Metric::Unknown => self.outcomes.unknown,
            Metric::AcquireP50 => self.acquire_us.p50,
            Metric::AcquireP90 => self.acquire_us.p90,
            Metric::AcquireP99 => self.acquire_us.p99,
            Metric::AcquireP999 => self.acquire_us.p999,
            Metric::AcquireMax => self.acquire_us.max,
            Metric::ResponseP50 => self.response_us.p50,
            Metric::ResponseP90 => self.response_us.p90,
            Metric::ResponseP99 => self.response_us.p99,
            Metric::ResponseP999 => self.response_us.p999,
            Metric::ResponseMax => self.response_us.max,
            Metric::Throughput => return self.throughput,
            Metric::Completed => self.completed,
            Metric::Late => self.late,
            Metric::Orders => self.orders,
            Metric::Oversold => self.oversold,
            Metric::LostUpdates => self.lost_updates,
            Metric::SoldOut => self.sold_out,
            Metric::DbHits => self.db_hits,
            Metric::DbHitsPerExpiry => return self.db_hits_per_expiry.mean,
            Metric::DbHitsPerExpiryMax => self.db_hits_per_expiry.max,
            Metric::Hits => self.hits,
            Metric::StaleReads => self.stale_reads,
            Metric::GaveUp => self.gave_up,
            Metric::DuplicatePages => self.duplicate_pages,
            Metric::MissingPages => self.missing_pages,
            Metric::LocksLost => self.locks_lost,
            Metric::Aborted => self.aborted,
            Metric::Fenced => self.fenced,
            Metric::Errors => self.errors,
            Metric::Holding => self.holding,
            Metric::Partial => self.partial,
        };
        count as f64
    }
}
