use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::formulas::wilson;
use super::tail::{self, Tail, Tails};

/// The fewest values from which a distribution can be made.
const FEWEST: f64 = 30.0;
/// The most points that are kept.
const POINTS: usize = 4000;
/// This many values beyond a bound are needed to say how often it is exceeded.
const SEEN: f64 = 3.0;

/// Measured durations, in seconds: what was seen as it was seen, and beyond that, from the probability 3/n on, a fitted
/// log-normal tail.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Values with the number of those that are not larger; both ascend.
    points: Vec<(f64, f64)>,
    n: f64,
    /// What is exceeded less often than this is extrapolated.
    resolution: f64,
    /// The value that is exceeded that often.
    start: f64,
    tails: Tails,
}

/// Which end of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Low,
    Mid,
    High,
}

impl Measured {
    /// The distribution of these values, in seconds.
    ///
    /// # Errors
    /// There are fewer than 30.
    pub fn of_values(mut values: Vec<f64>) -> Result<Self, String> {
        values.sort_unstable_by(f64::total_cmp);
        // Of millions of values there is no second list.
        let equal = || values.chunk_by(|one, other| one >= other);
        let points = equal().scan(0, |below, values| {
            *below += values.len();
            Some((values[0], *below as f64))
        });
        Self::of_distinct(thinned(points, equal().count()), values.len() as f64)
    }

    /// The distribution of `n` values, of which so many are not larger than each of these. Both the values and the counts
    /// ascend; what is larger than the last point is known only as such.
    ///
    /// # Errors
    /// There are fewer than 30.
    pub fn of_points(mut points: Vec<(f64, f64)>, n: f64) -> Result<Self, String> {
        // Of equal values the last one counts them all.
        points.dedup_by(|later, kept| {
            let is_same = kept.0 >= later.0;
            if is_same {
                kept.1 = later.1;
            }
            is_same
        });
        let distinct = points.len();
        Self::of_distinct(thinned(points.into_iter(), distinct), n)
    }

    fn of_distinct(points: Vec<(f64, f64)>, n: f64) -> Result<Self, String> {
        if n < FEWEST {
            return Err(format!(
                "{n} values are too few to see how holds vary; measure at least {FEWEST}, and better 10,000"
            ));
        }
        let beyond_last = n - points.last().map_or(0.0, |&(_, below)| below);
        let resolution = (SEEN.max(beyond_last) / n).min(1.0);
        let start = seen_quantile(&points, n, 1.0 - resolution);
        Ok(Self {
            tails: tail::fit(&points, n, start, resolution),
            n,
            resolution,
            start,
            points,
        })
    }

    /// How many values there are.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    pub const fn count(&self) -> u64 {
        self.n as u64
    }

    /// What is exceeded less often than this is extrapolated: three of the values.
    #[must_use]
    pub const fn resolution(&self) -> f64 {
        self.resolution
    }

    /// The probability of more than `value` seconds.
    pub(super) fn beyond(&self, value: f64, bound: Bound) -> f64 {
        if value > self.start {
            return self.tail(bound).beyond(value);
        }
        let p = self.seen_beyond(value);
        let (low, high) = wilson(p * self.n, self.n);
        match bound {
            Bound::Low => low,
            Bound::Mid => p,
            Bound::High => high,
        }
    }

    /// The value that is exceeded with the probability `p`.
    pub(super) fn quantile_beyond(&self, p: f64) -> f64 {
        if p < self.resolution {
            self.tails.mid.quantile_beyond(p)
        } else {
            seen_quantile(&self.points, self.n, 1.0 - p)
        }
    }

    const fn tail(&self, bound: Bound) -> &Tail {
        match bound {
            Bound::Low => &self.tails.low,
            Bound::Mid => &self.tails.mid,
            Bound::High => &self.tails.high,
        }
    }

    fn seen_beyond(&self, value: f64) -> f64 {
        let next = self.points.partition_point(|point| point.0 <= value);
        let (from, below) = next.checked_sub(1).map_or((0.0, 0.0), |before| self.points[before]);
        let Some(&(to, up_to)) = self.points.get(next) else {
            return (self.n - below) / self.n;
        };
        // Between two points the values are spread evenly.
        let share = (value - from) / (to - from);
        (self.n - (below + (up_to - below) * share.clamp(0.0, 1.0))) / self.n
    }
}

impl Serialize for Measured {
    /// Its count and some quantiles in seconds.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Measured", 5)?;
        fields.serialize_field("count", &self.count())?;
        fields.serialize_field("p50", &self.quantile_beyond(0.5))?;
        fields.serialize_field("p90", &self.quantile_beyond(0.1))?;
        fields.serialize_field("p99", &self.quantile_beyond(0.01))?;
        fields.serialize_field("extrapolated_from", &self.start)?;
        fields.end()
    }
}

/// The value that is not exceeded by the part `p` of the values, by the points alone.
fn seen_quantile(points: &[(f64, f64)], n: f64, p: f64) -> f64 {
    let wanted = p * n;
    let next = points.partition_point(|point| point.1 < wanted);
    let (from, below) = next.checked_sub(1).map_or((0.0, 0.0), |before| points[before]);
    let Some(&(to, up_to)) = points.get(next) else {
        return from;
    };
    from + (to - from) * ((wanted - below) / (up_to - below))
}

/// Of too many points only some are kept, all of the largest among them.
fn thinned(points: impl Iterator<Item = (f64, f64)>, count: usize) -> Vec<(f64, f64)> {
    let large = count.saturating_sub(POINTS / 4);
    let every = large.div_ceil(POINTS * 3 / 4).max(1);
    let is_kept = |index: usize| index >= large || index.is_multiple_of(every);
    let kept = points.enumerate().filter(|(index, _)| is_kept(*index));
    kept.map(|(_, point)| point).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;
    use rand_distr::{Distribution, LogNormal};

    use super::*;
    use crate::formulas::normal_beyond;

    const SIGMA: f64 = 0.6;

    fn drawn(n: usize, seed: u64) -> Measured {
        let spread = LogNormal::new(0.020_f64.ln(), SIGMA).expect("a positive sigma");
        let mut random = SmallRng::seed_from_u64(seed);
        let values = (0..n).map(|_| spread.sample(&mut random)).collect();
        Measured::of_values(values).expect("enough values")
    }

    fn truth(value: f64) -> f64 {
        normal_beyond((value / 0.020).ln() / SIGMA)
    }

    #[test]
    fn what_was_seen_is_as_seen() {
        let measured = Measured::of_values((1..=1000).map(|n| f64::from(n) / 1000.0).collect()).expect("enough values");
        assert!((measured.beyond(0.9, Bound::Mid) - 0.1).abs() < 1e-9);
        assert!((measured.quantile_beyond(0.75) - 0.25).abs() < 1e-9);
        assert!((measured.resolution() - 0.003).abs() < 1e-12 && measured.count() == 1000);
        let ends = [0.9, 0.9975].map(|value| (measured.beyond(value, Bound::Low), measured.beyond(value, Bound::High)));
        assert!(ends[0].0 < 0.09 && ends[0].1 > 0.11 && ends[1].1 > 0.0025, "{ends:?}");
        // From one side of the start of the tail to the other.
        let start = 0.997;
        let [before, after] = [start - 1e-9, start + 1e-9].map(|value| measured.beyond(value, Bound::Mid));
        assert!((before / after - 1.0).abs() < 1e-3, "{before} {after}");
    }

    #[test]
    fn the_tail_of_log_normal_values_is_found_and_its_interval_tells_the_truth() {
        let value = 0.020 * (SIGMA * 4.5).exp();
        let mut inside = 0;
        for seed in 0..100 {
            let measured = drawn(5000, seed);
            let [low, mid, high] = [Bound::Low, Bound::Mid, Bound::High].map(|bound| measured.beyond(value, bound));
            assert!(low <= mid && mid <= high, "{low} {mid} {high}");
            assert!(high / low < 1e4, "an interval that says nothing: {low} to {high}");
            inside += usize::from((low..=high).contains(&truth(value)));
        }
        // Of a 95 % interval 95 are expected; fewer than 85 are improbable.
        assert!(inside >= 85, "{inside} of 100");
    }

    #[test]
    fn fewer_values_give_a_wider_interval() {
        let width = |n| {
            let measured = drawn(n, 7);
            measured.beyond(0.2, Bound::High) / measured.beyond(0.2, Bound::Low)
        };
        assert!(width(500) > 2.0 * width(50_000), "{} {}", width(500), width(50_000));
    }

    #[test]
    fn a_constant_and_what_lies_beyond_the_last_bucket() {
        let constant = Measured::of_values(vec![0.5; 100]).expect("enough values");
        assert!(constant.beyond(0.6, Bound::Mid) <= 0.0);
        assert!(constant.beyond(0.51, Bound::High) > 0.0);
        // Of 1,000 values 100 are larger than the last bound: nothing is known beyond a tenth.
        let buckets = vec![(0.01, 500.0), (0.1, 800.0), (1.0, 900.0)];
        let measured = Measured::of_points(buckets, 1000.0).expect("enough values");
        assert!((measured.resolution() - 0.1).abs() < 1e-12);
        assert!(measured.beyond(2.0, Bound::Mid) < 0.1 && measured.beyond(2.0, Bound::Mid) > 0.0);
    }

    #[test]
    fn a_handful_of_values_is_refused() {
        assert!(Measured::of_values(vec![1.0; 29]).is_err_and(|why| why.contains("too few")));
    }
}
