use hdrhistogram::Histogram;
use hdrhistogram::iterators::IterationValue;
use serde::Serialize;

use super::bins;
use super::chance::{Basis, Chance};
use super::formulas::{log_normal_excess, normal_beyond, normal_quantile_beyond};
use super::measured::{Bound, Measured};
use lockstorm_data::model::in_us;

/// How long something takes, in seconds, and how that varies.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Always the same.
    #[serde(rename = "constant_us", with = "in_us")]
    Constant(f64),
    /// Each length from the least to the most is equally likely.
    Uniform {
        /// The least, 0 or more.
        #[serde(rename = "least_us", with = "in_us")]
        least: f64,
        /// The most, above the least.
        #[serde(rename = "most_us", with = "in_us")]
        most: f64,
    },
    /// Log-normal.
    LogNormal {
        /// The median, above 0.
        #[serde(rename = "median_us", with = "in_us")]
        median: f64,
        /// The standard deviation of the logarithm, above 0.
        sigma: f64,
    },
    /// What was measured, and its fitted tail.
    Measured(Measured),
}

impl Spread {
    /// What was measured, in microseconds.
    ///
    /// # Errors
    /// There are fewer than 30 values.
    pub fn of_micros(histogram: &Histogram<u64>) -> Result<Self, String> {
        let mut counted = 0.0;
        let point = |bucket: IterationValue<u64>| {
            counted += bucket.count_since_last_iteration() as f64;
            // No time at all has no logarithm: less than a microsecond counts as half of one.
            ((bucket.value_iterated_to() as f64).max(0.5) / 1e6, counted)
        };
        let points = histogram.iter_recorded().map(point).collect();
        Measured::of_points(points, histogram.len() as f64).map(Self::Measured)
    }

    /// The probability of more than `value` seconds.
    pub fn beyond(&self, value: f64) -> Chance {
        let p = |bound| self.beyond_at(value, bound);
        Chance {
            p: p(Bound::Mid),
            low: p(Bound::Low),
            high: p(Bound::High),
            basis: self.basis_of(p(Bound::Mid)),
        }
    }

    /// The probability of more than `value` seconds: the best estimate, or one end of its interval.
    pub(super) fn beyond_at(&self, value: f64, bound: Bound) -> f64 {
        if value < 0.0 {
            return 1.0;
        }
        match self {
            Self::Constant(always) => f64::from(u8::from(*always > value)),
            Self::Uniform { least, most } => ((most - value) / (most - least)).clamp(0.0, 1.0),
            Self::LogNormal { median, sigma } => normal_beyond((value / median).ln() / sigma),
            Self::Measured(measured) => measured.beyond(value, bound),
        }
    }

    /// The mean of what is beyond `value` seconds, with 0 for what is not: the integral of [`beyond_at`](Self::beyond_at) from there on.
    pub(super) fn excess(&self, value: f64, bound: Bound) -> f64 {
        match self {
            _ if value < 0.0 => self.excess(0.0, bound) - value,
            Self::Constant(always) => (always - value).max(0.0),
            Self::Uniform { least, most } if value < *least => f64::midpoint(*least, *most) - value,
            Self::Uniform { least, most } => (most - value).max(0.0).powi(2) / (2.0 * (most - least)),
            Self::LogNormal { median, sigma } => log_normal_excess(*median, *sigma, value),
            Self::Measured(measured) => measured.excess(value, bound),
        }
    }

    /// What a probability that was taken from this rests on.
    pub(super) fn basis_of(&self, p: f64) -> Basis {
        match self {
            Self::Measured(measured) if p < measured.resolution() => Basis::Extrapolated(measured.count()),
            Self::Measured(measured) => Basis::Measured(measured.count()),
            _ => Basis::Assumed,
        }
    }

    /// The value that is not exceeded with the probability `p`, 0 < p < 1.
    pub fn quantile(&self, p: f64) -> f64 {
        self.quantile_beyond(1.0 - p)
    }

    /// The value that is exceeded with the probability `p`, 0 < p < 1: exact where p is tiny.
    pub fn quantile_beyond(&self, p: f64) -> f64 {
        match self {
            Self::Constant(always) => *always,
            Self::Uniform { least, most } => most - (most - least) * p,
            Self::LogNormal { median, sigma } => median * (normal_quantile_beyond(p) * sigma).exp(),
            Self::Measured(measured) => measured.quantile_beyond(p),
        }
    }

    /// A few hundred of its values with their weights, which add up to 1.
    pub(super) fn values(&self) -> Vec<(f64, f64)> {
        self.values_up_to(f64::INFINITY)
    }

    /// A few hundred of those of its values that are not above `most`, with their weights, which add up to the probability of these;
    /// the nearer to `most`, the closer together.
    pub(super) fn values_up_to(&self, most: f64) -> Vec<(f64, f64)> {
        if let Self::Constant(always) = self {
            return Vec::from_iter((*always <= most).then_some((*always, 1.0)));
        }
        let beyond = self.beyond_at(most, Bound::Mid);
        let value = |(place, weight): (f64, f64)| {
            let above = 1.0 - place + place * beyond;
            (self.quantile_beyond(above), weight * (1.0 - beyond))
        };
        bins::places().map(value).collect()
    }

    /// The sum of a function over those of its values that are not above `most`, each times its probability.
    pub(super) fn sum_up_to(&self, most: f64, of: impl Fn(f64) -> f64) -> f64 {
        if let Self::Constant(always) = self {
            return if *always <= most { of(*always) } else { 0.0 };
        }
        let beyond = self.beyond_at(most, Bound::Mid);
        let places: Vec<(f64, f64)> = bins::places().collect();
        // What is above a place, so that numbers grow about as values do.
        let numbers: Vec<(f64, f64)> = places
            .iter()
            .map(|(place, weight)| (-(1.0 - place).ln(), *weight))
            .collect();
        let value = |(place, _): (f64, f64)| self.quantile_beyond(1.0 - place + place * beyond);
        (1.0 - beyond) * bins::sum(&numbers, |place| of(value(places[place])))
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        match self {
            Self::LogNormal { median, sigma } => median * (sigma * sigma / 2.0).exp(),
            _ => self.excess(0.0, Bound::Mid),
        }
    }
}
