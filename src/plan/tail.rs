//! What lies beyond the largest values that were measured.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Poisson};

use super::formulas::{log_normal_excess, normal_beyond, normal_quantile_beyond, wilson};
use lockstorm_data::metrics::units::place;

/// The part of the values, the largest ones, to which the tail is fitted.
const FITTED: f64 = 0.1;
/// How often the values are drawn again to see how far the slope may be off.
const REDRAWN: u64 = 200;
/// The slope of an upper bound is at least this: even values that are all the same vary a little.
const LEAST_SLOPE: f64 = 0.01;

/// A log-normal tail: beyond `start` the logarithms of the values have these standard deviations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tail {
    start: f64,
    /// The deviation of `start` in a standard normal distribution.
    from: f64,
    slope: f64,
}

impl Tail {
    /// The probability of more than `value`, which is not below the start.
    pub(super) fn beyond(&self, value: f64) -> f64 {
        if self.slope <= 0.0 {
            return if value > self.start {
                0.0
            } else {
                normal_beyond(self.from)
            };
        }
        normal_beyond(self.from + (value / self.start).ln() / self.slope)
    }

    /// The integral of that probability from `value` on, which is not below the start.
    pub(super) fn excess(&self, value: f64) -> f64 {
        if self.slope <= 0.0 {
            return 0.0;
        }
        log_normal_excess(self.start * (-self.from * self.slope).exp(), self.slope, value)
    }

    /// The value that is exceeded with this probability, which is not above that of the start.
    pub(super) fn quantile_beyond(&self, p: f64) -> f64 {
        self.start * ((normal_quantile_beyond(p) - self.from) * self.slope).exp()
    }
}

/// The tail as it is most likely, and two that enclose it with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tails {
    pub low: Tail,
    pub mid: Tail,
    pub high: Tail,
}

/// Fits a log-normal tail, which starts at the value that is exceeded with the probability `resolution`, to the largest tenth of
/// the values: the slope is that of their logarithms against normal quantiles (a straight line on log-normal paper), by least
/// squares; its interval comes from drawing the values again 200 times (Efron's bootstrap, with Poisson weights).
///
/// `points` are values with the number of those that are not larger, both ascending; `n` is the number of all values.
pub(super) fn fit(points: &[(f64, f64)], n: f64, start: f64, resolution: f64) -> Tails {
    let exceeded = |below: f64| (n - below) / n;
    let upper: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|&(value, below)| value > 0.0 && exceeded(below) <= FITTED.max(3.0 * resolution))
        .collect();
    let measured: Vec<(f64, f64)> = upper.iter().map(|&(value, below)| (value, exceeded(below))).collect();
    let mid = slope(&measured, resolution);
    let mut slopes = redrawn(&upper, n, resolution);
    slopes.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| {
        let at = place(slopes.len().saturating_sub(1) as f64 * part);
        slopes.get(at).copied().unwrap_or(mid)
    };
    let (fewer, more) = wilson(resolution * n, n);
    let tail = |p: f64, slope: f64| Tail {
        start,
        from: normal_quantile_beyond(p),
        slope,
    };
    Tails {
        low: tail(fewer, at(0.025).min(mid)),
        mid: tail(resolution, mid),
        high: tail(more, at(0.975).max(mid).max(LEAST_SLOPE)),
    }
}

/// The slope of the logarithms of values against the normal quantiles of how often they are exceeded; what is exceeded less
/// often than `resolution` is left out. 0 if there are not two different values.
fn slope(exceeded: &[(f64, f64)], resolution: f64) -> f64 {
    let points: Vec<(f64, f64)> = exceeded
        .iter()
        .filter(|&&(_, p)| p >= resolution && p < 1.0)
        .map(|&(value, p)| (normal_quantile_beyond(p), value.ln()))
        .collect();
    let n = points.len() as f64;
    let (x, y) = (
        points.iter().map(|point| point.0).sum::<f64>() / n,
        points.iter().map(|point| point.1).sum::<f64>() / n,
    );
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let squares: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    if points.len() < 2 || squares <= 0.0 {
        0.0
    } else {
        (both / squares).max(0.0)
    }
}

/// The slopes of the same values drawn again.
fn redrawn(upper: &[(f64, f64)], n: f64, resolution: f64) -> Vec<f64> {
    let mut random = SmallRng::seed_from_u64(1);
    let first = upper.first().map_or(n, |&(_, below)| below);
    let draw = |random: &mut SmallRng, count: f64| {
        // A count of 0 has no distribution.
        Poisson::new(count).map_or(0.0, |poisson| poisson.sample(random))
    };
    (0..REDRAWN)
        .map(|_| {
            let mut before = first;
            // From the largest value down: how many of the drawn values are larger.
            let counts: Vec<f64> = upper
                .iter()
                .map(|&(_, below)| draw(&mut random, below - std::mem::replace(&mut before, below)))
                .collect();
            let beyond_last = n - upper.last().map_or(n, |&(_, below)| below);
            let mut larger = draw(&mut random, beyond_last);
            let mut exceeded: Vec<(f64, f64)> = Vec::with_capacity(upper.len());
            for (&(value, _), count) in upper.iter().zip(&counts).rev() {
                exceeded.push((value, larger / n));
                larger += count;
            }
            slope(&exceeded, resolution)
        })
        .collect()
}
