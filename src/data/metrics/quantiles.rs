use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

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
