use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::formulas::wilson;
use super::tail::{self, Tail, Tails};
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::model::in_us::InMicros as _;

/// The fewest values from which a distribution can be made.
const FEWEST: f64 = 30.0;
/// The most points that are kept.
const POINTS: usize = 4000;
/// This many values beyond a bound are needed to say how often it is exceeded.
const SEEN: f64 = 3.0;
/// Units to which durations are rounded, in seconds, the coarsest first.
const UNITS: [f64; 9] = [3600.0, 60.0, 1.0, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6];

/// Measured durations, in seconds: what was seen as it was seen, and beyond that, from the probability 3/n on, a fitted
/// log-normal tail.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Values with the number of those that are not larger; both ascend.
    points: Vec<(f64, f64)>,
    between: Between,
    n: f64,
    /// What is exceeded less often than this is extrapolated.
    resolution: f64,
    /// The value that is exceeded that often.
    start: f64,
    tails: Tails,
    /// The points up to the start with the integral of what lies beyond each, by [`Bound`].
    excess: Vec<(f64, [f64; 3])>,
    rounded_to: Option<f64>,
}

/// What lies between two points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    /// Nothing: each point is a value.
    Nothing,
    /// The values of a bucket, spread evenly.
    Evenly,
}

/// Which end of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Low,
    Mid,
    High,
}

impl Measured {
    /// Of how many buckets it was made, within which the values are taken as even; `None` if each value is known.
    pub fn buckets(&self) -> Option<usize> {
        (self.between == Between::Evenly).then_some(self.points.len())
    }

    /// The distribution of these values, in seconds, each of which counts as it is. Values that are rounded to a unit may have been
    /// cut off, so each counts as a whole unit longer: those that are known to be cut off to `cut_to`, and those that look like it.
    ///
    /// # Errors
    /// There are fewer than 30.
    pub fn of_values(mut values: Vec<f64>, cut_to: Option<f64>) -> Result<Self, String> {
        values.sort_unstable_by(f64::total_cmp);
        let rounded_to = rounded_to(&values).or(cut_to);
        for value in &mut values {
            *value += rounded_to.unwrap_or(0.0);
        }
        // Of millions of values there is no second list.
        let equal = || values.chunk_by(|one, other| one >= other);
        let points = equal().scan(0, |below, values| {
            *below += values.len();
            Some((values[0], *below as f64))
        });
        let points = thinned(points, equal().count());
        let measured = Self::of_distinct(points, Between::Nothing, values.len() as f64)?;
        Ok(Self { rounded_to, ..measured })
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
        Self::of_distinct(thinned(points.into_iter(), distinct), Between::Evenly, n)
    }

    fn of_distinct(points: Vec<(f64, f64)>, between: Between, n: f64) -> Result<Self, String> {
        if n < FEWEST {
            return Err(format!(
                "{n} values are too few to see how they vary; measure at least {FEWEST}, and better 10,000"
            ));
        }
        let beyond_last = n - points.last().map_or(0.0, |&(_, below)| below);
        let resolution = (SEEN.max(beyond_last) / n).min(1.0);
        let start = seen_quantile(&points, between, n, 1.0 - resolution);
        let mut measured = Self {
            tails: tail::fit(&points, n, start, resolution),
            start,
            n,
            resolution,
            points,
            between,
            excess: Vec::new(),
            rounded_to: None,
        };
        measured.excess = measured.excesses();
        Ok(measured)
    }

    /// The unit in seconds to which the values seem to be rounded, for which each counts as a unit longer; `None` if they are not, or
    /// the unit is too small to matter.
    pub const fn rounded_to(&self) -> Option<f64> {
        self.rounded_to
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        rounded(self.n)
    }

    /// What is exceeded less often than this is extrapolated: three of the values.
    pub const fn resolution(&self) -> f64 {
        self.resolution
    }

    /// The probability of more than `value` seconds.
    pub(super) fn beyond(&self, value: f64, bound: Bound) -> f64 {
        if value > self.start {
            return self.tail(bound).beyond(value);
        }
        self.bounded(self.seen_beyond(value), bound)
    }

    /// The part of all values, or one end of its interval.
    fn bounded(&self, part: f64, bound: Bound) -> f64 {
        let (low, high) = wilson(part * self.n, self.n);
        match bound {
            Bound::Low => low,
            Bound::Mid => part,
            Bound::High => high,
        }
    }

    /// The integral of the probability of more than `value` seconds, which is 0 or more, from there on.
    pub(super) fn excess(&self, value: f64, bound: Bound) -> f64 {
        let next = self.excess.partition_point(|point| point.0 <= value);
        match self.excess.get(next) {
            None => self.tail(bound).excess(value),
            Some((to, beyond)) => beyond[bound as usize] + self.area(value, *to, bound),
        }
    }

    /// The integral of the probability of more between two neighbouring points, or from one side of the first to the other.
    fn area(&self, from: f64, to: f64, bound: Bound) -> f64 {
        let at = |value| self.bounded(self.seen_beyond(value), bound);
        let height = match self.between {
            Between::Nothing => at(from),
            // Simpson's rule: the part falls evenly, but the ends of its interval do not.
            Between::Evenly => (at(from) + 4.0 * at(f64::midpoint(from, to)) + at(to)) / 6.0,
        };
        height * (to - from)
    }

    fn excesses(&self) -> Vec<(f64, [f64; 3])> {
        let bounds = [Bound::Low, Bound::Mid, Bound::High];
        let mut later = (self.start, bounds.map(|bound| self.tail(bound).excess(self.start)));
        let mut all = vec![later];
        for &(value, _) in self.points.iter().rev().filter(|point| point.0 < self.start) {
            let (to, beyond) = later;
            later = (
                value,
                bounds.map(|bound| beyond[bound as usize] + self.area(value, to, bound)),
            );
            all.push(later);
        }
        all.reverse();
        all
    }

    /// The value that is exceeded with the probability `p`.
    pub(super) fn quantile_beyond(&self, p: f64) -> f64 {
        if p < self.resolution {
            self.tails.mid.quantile_beyond(p)
        } else {
            seen_quantile(&self.points, self.between, self.n, 1.0 - p)
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
        let share = match (self.between, self.points.get(next)) {
            (Between::Evenly, Some((to, up_to))) => (up_to - below) * ((value - from) / (to - from)).clamp(0.0, 1.0),
            _ => 0.0,
        };
        (self.n - (below + share)) / self.n
    }
}

/// The value that is not exceeded by the part `p` of the values, by the points alone.
fn seen_quantile(points: &[(f64, f64)], between: Between, n: f64, p: f64) -> f64 {
    let wanted = p * n;
    let next = points.partition_point(|point| point.1 < wanted);
    let (from, below) = next.checked_sub(1).map_or((0.0, 0.0), |before| points[before]);
    match (between, points.get(next)) {
        (_, None) => from,
        (Between::Nothing, Some((value, _))) => *value,
        (Between::Evenly, Some((to, up_to))) => from + (to - from) * ((wanted - below) / (up_to - below)),
    }
}

/// The coarsest unit of which all values, which ascend, are multiples, if they look as if they were rounded to it: they come again and
/// again, there are three different ones at least, and the unit is more than a hundredth of the median.
fn rounded_to(values: &[f64]) -> Option<f64> {
    let different = || values.chunk_by(|one, other| one >= other);
    let median = *values.get(values.len() / 2)?;
    if !(3..=values.len() / 2).contains(&different().count()) {
        return None;
    }
    let are_multiples = |unit: &f64| {
        different().all(|equal| {
            let times = equal[0] / unit;
            (times - times.round()).abs() <= 1e-6 * times
        })
    };
    UNITS
        .into_iter()
        .find(are_multiples)
        .filter(|unit| *unit > median / 100.0)
}

impl Serialize for Measured {
    /// Its count, some quantiles and the unit of rounding.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Measured", 6)?;
        fields.serialize_field("count", &self.count())?;
        fields.serialize_field("p50_us", &self.quantile_beyond(0.5).micros())?;
        fields.serialize_field("p90_us", &self.quantile_beyond(0.1).micros())?;
        fields.serialize_field("p99_us", &self.quantile_beyond(0.01).micros())?;
        fields.serialize_field("extrapolated_from_us", &self.start.micros())?;
        fields.serialize_field("rounded_to_us", &self.rounded_to.micros())?;
        fields.end()
    }
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
        Measured::of_values(values, None).expect("enough values")
    }

    fn truth(value: f64) -> f64 {
        normal_beyond((value / 0.020).ln() / SIGMA)
    }

    #[test]
    fn what_was_seen_is_as_seen() {
        let measured =
            Measured::of_values((1..=1000).map(|n| f64::from(n) / 1000.0).collect(), None).expect("enough values");
        assert!((measured.beyond(0.9, Bound::Mid) - 0.1).abs() < 1e-9);
        assert!((measured.quantile_beyond(0.75) - 0.25).abs() < 1e-9);
        assert!((measured.resolution() - 0.003).abs() < 1e-12 && measured.count() == 1000);
        let ends = [0.9, 0.9975].map(|value| (measured.beyond(value, Bound::Low), measured.beyond(value, Bound::High)));
        assert!(ends[0].0 < 0.09 && ends[0].1 > 0.11 && ends[1].1 > 0.0025, "{ends:?}");
        // From one side of the start of the tail to the other.
        let start = 0.997;
        let [before, after] = [start, start + 1e-9].map(|value| measured.beyond(value, Bound::Mid));
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

    /// Of 500 jobs 300 took one second and 200 two.
    #[test]
    fn values_that_come_again_are_values_and_not_the_ends_of_buckets() {
        let values = std::iter::repeat_n(1.0, 300).chain(std::iter::repeat_n(2.0, 200));
        let measured = Measured::of_values(values.collect(), None).expect("enough values");
        let beyond = |value| measured.beyond(value, Bound::Mid);
        assert!((beyond(0.9) - 1.0).abs() < 1e-12 && (beyond(1.6) - 0.4).abs() < 1e-12);
        assert!(beyond(2.1) <= 0.0 && measured.rounded_to().is_none());
        assert!((measured.quantile_beyond(0.5) - 1.0).abs() < 1e-12);
        let excess = [0.0, 1.0, 1.5, 2.5].map(|value| measured.excess(value, Bound::Mid));
        for (excess, truth) in excess.iter().zip([1.4, 0.4, 0.2, 0.0]) {
            assert!((excess - truth).abs() < 1e-12, "{excess} {truth}");
        }
    }

    #[test]
    fn rounded_values_are_recognised_and_count_as_the_longest_that_they_may_be() {
        let spread = LogNormal::new(3.0_f64.ln(), SIGMA).expect("a positive sigma");
        let mut random = SmallRng::seed_from_u64(3);
        let truth: Vec<f64> = (0..20_000).map(|_| spread.sample(&mut random)).collect();
        let part = |measured: &Measured| measured.beyond(4.5, Bound::Mid);
        let exact = Measured::of_values(truth.clone(), None).expect("enough values");
        assert_eq!(exact.rounded_to(), None);
        for round in [f64::round, f64::floor, f64::ceil] {
            let values = truth.iter().map(|value| round(*value).max(1.0)).collect();
            let rounded = Measured::of_values(values, None).expect("enough values");
            assert_eq!(rounded.rounded_to(), Some(1.0));
            assert!(part(&rounded) >= part(&exact), "{} {}", part(&rounded), part(&exact));
        }
        // A thousandth of a second does not matter here.
        let fine = truth.iter().map(|value| (value * 100.0).round() / 100.0).collect();
        assert_eq!(
            Measured::of_values(fine, None).expect("enough values").rounded_to(),
            None
        );
    }

    #[test]
    fn what_is_in_excess_is_the_integral_of_what_lies_beyond() {
        let buckets = vec![(0.01, 500.0), (0.1, 800.0), (1.0, 997.0), (2.0, 1000.0)];
        for measured in [
            Measured::of_points(buckets, 1000.0).expect("enough values"),
            drawn(2000, 5),
        ] {
            for bound in [Bound::Low, Bound::Mid, Bound::High] {
                let (mut at, mut sum, step) = (0.003, 0.0, 1.000_5_f64);
                let excess = measured.excess(at, bound);
                while at < 50.0 {
                    sum += measured.beyond(at * step.sqrt(), bound) * at * (step - 1.0);
                    at *= step;
                }
                assert!((excess / sum - 1.0).abs() < 5e-3, "{bound:?}: {excess} {sum}");
            }
        }
    }

    #[test]
    fn a_constant_and_what_lies_beyond_the_last_bucket() {
        let constant = Measured::of_values(vec![0.5; 100], None).expect("enough values");
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
        assert!(Measured::of_values(vec![1.0; 29], None).is_err_and(|why| why.contains("too few")));
    }
}
