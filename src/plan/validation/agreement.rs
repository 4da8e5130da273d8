//! How far two samples agree.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::formulas::{normal_quantile_beyond, wilson_at};
use lockstorm_data::model::CheckResult;
use lockstorm_data::model::in_us::InMicros as _;

/// The error allowed over a whole table: how often a table without any difference may show one.
const ALPHA: f64 = 0.01;
/// The largest difference of a probability that does not matter: this part of it, or so much if that is more.
const RELATIVE: f64 = 0.10;
const ABSOLUTE: f64 = 0.005;
/// The largest distance between two distribution functions that does not matter.
const DISTANCE: f64 = 0.05;
/// The fewest takeovers that say anything.
const FEWEST_TAKEOVERS: u64 = 30;

/// Two probabilities: on real nodes and in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// Its part on real nodes.
    pub real: f64,
    /// In virtual time.
    pub simulated: f64,
    /// The 99 % interval of real less simulated (Newcombe 1998, method 10: from the Wilson intervals of both).
    pub interval: [f64; 2],
    /// The largest difference that does not matter: 10 % of the simulated one, or 0.5 points.
    pub margin: f64,
    /// What this shows.
    pub result: CheckResult,
}

impl Difference {
    /// Compares `real` of so many with `simulated` of so many. `tests` is the number of comparisons in the table, over which the
    /// allowed error is spread (Bonferroni).
    pub fn of(real: (u64, u64), simulated: (u64, u64), tests: usize) -> Self {
        let part = |(k, n): (u64, u64)| k as f64 / (n as f64).max(1.0);
        let (one, other) = (part(real), part(simulated));
        let margin = (RELATIVE * other).max(ABSOLUTE);
        let interval = interval(real, simulated, 0.01);
        let strict = interval_of_table(real, simulated, tests);
        let differ = strict[0] > 0.0 || strict[1] < 0.0;
        let result = judged(real.1.min(simulated.1) > 0, differ, interval, margin);
        Self {
            real: one,
            simulated: other,
            interval,
            margin,
            result,
        }
    }
}

/// What an interval of a difference shows, if there are enough values and no test has found them to differ.
fn judged(are_enough: bool, differ: bool, interval: [f64; 2], margin: f64) -> CheckResult {
    if !are_enough {
        CheckResult::Inconclusive
    } else if differ {
        CheckResult::Failed
    } else if interval[0] >= -margin && interval[1] <= margin {
        CheckResult::Held
    } else {
        CheckResult::Inconclusive
    }
}

fn interval_of_table(real: (u64, u64), simulated: (u64, u64), tests: usize) -> [f64; 2] {
    interval(real, simulated, ALPHA / (tests.max(1) as f64))
}

/// The interval of the difference of two proportions that is missed with the probability `alpha`.
fn interval(one: (u64, u64), other: (u64, u64), alpha: f64) -> [f64; 2] {
    let z = normal_quantile_beyond(alpha / 2.0);
    let ends = |(k, n): (u64, u64)| wilson_at(k as f64, (n as f64).max(1.0), z);
    let part = |(k, n): (u64, u64)| k as f64 / (n as f64).max(1.0);
    let (p, q) = (part(one), part(other));
    let ((p_low, p_high), (q_low, q_high)) = (ends(one), ends(other));
    [
        p - q - (p - p_low).hypot(q_high - q),
        p - q + (p_high - p).hypot(q - q_low),
    ]
}

/// How far apart two distributions are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distance {
    /// The largest difference of their distribution functions (Kolmogorov and Smirnov).
    pub d: f64,
    /// What this shows: 0.05 at most agrees, if there are enough values to see as much.
    pub result: CheckResult,
}

impl Distance {
    /// Compares two distributions.
    pub fn of(real: &Histogram<u64>, simulated: &Histogram<u64>) -> Self {
        let d = distance(real, simulated);
        let result = if noise(real.len(), simulated.len(), 0.01) > DISTANCE {
            CheckResult::Inconclusive
        } else if d <= DISTANCE {
            CheckResult::Held
        } else {
            CheckResult::Failed
        };
        Self { d, result }
    }
}

/// Whether two small samples can come from the same distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Likeness {
    /// How many values there are on real nodes.
    pub count: u64,
    /// Their mean, in microseconds.
    pub real_us: i64,
    /// The mean in virtual time.
    pub simulated_us: i64,
    /// The 99 % interval of the difference of the means.
    pub interval_us: [i64; 2],
    /// The distance of the distributions.
    pub d: f64,
    /// What this shows: no significant distance, and the interval within 10 % of the simulated mean; undecided with fewer than 30.
    pub result: CheckResult,
}

impl Likeness {
    /// Compares two samples; `tests` is the number of comparisons in the table.
    pub fn of(real: &Histogram<u64>, simulated: &Histogram<u64>, tests: usize) -> Self {
        let d = distance(real, simulated);
        let (one, other) = (real.mean(), simulated.mean());
        let error = |values: &Histogram<u64>| values.stdev().powi(2) / (values.len() as f64).max(1.0);
        let reach = normal_quantile_beyond(0.005) * (error(real) + error(simulated)).sqrt();
        let interval = [one - other - reach, one - other + reach];
        let margin = RELATIVE * other;
        let are_enough = real.len().min(simulated.len()) >= FEWEST_TAKEOVERS;
        let differ = d > noise(real.len(), simulated.len(), ALPHA / (tests.max(1) as f64));
        let result = judged(are_enough, differ, interval, margin);
        let whole = |us: f64| (us / 1e6).micros().unwrap_or_default();
        Self {
            count: real.len(),
            real_us: whole(one),
            simulated_us: whole(other),
            interval_us: interval.map(whole),
            d,
            result,
        }
    }
}

/// The distance that two samples of the same distribution exceed with the probability `alpha`, for samples that are not small
/// (Smirnov 1948).
fn noise(one: u64, other: u64, alpha: f64) -> f64 {
    let (one, other) = (one as f64, other as f64);
    if one < 1.0 || other < 1.0 {
        return 1.0;
    }
    (-(alpha / 2.0).ln() / 2.0 * (1.0 / one + 1.0 / other)).sqrt()
}

fn distance(one: &Histogram<u64>, other: &Histogram<u64>) -> f64 {
    if one.is_empty() || other.is_empty() {
        return 1.0;
    }
    let steps = |histogram: &Histogram<u64>, sign: f64| -> Vec<(u64, f64)> {
        let each = sign / histogram.len() as f64;
        let recorded = histogram.iter_recorded();
        recorded
            .map(|bucket| {
                (
                    bucket.value_iterated_to(),
                    bucket.count_since_last_iteration() as f64 * each,
                )
            })
            .collect()
    };
    let mut all = steps(one, 1.0);
    all.extend(steps(other, -1.0));
    all.sort_unstable_by_key(|(value, _)| *value);
    let (mut apart, mut most) = (0.0_f64, 0.0_f64);
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        apart += same.iter().map(|(_, step)| step).sum::<f64>();
        most = most.max(apart.abs());
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::histogram;

    fn of(values: impl Iterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = histogram();
        for value in values {
            histogram.record(value).expect("it resizes");
        }
        histogram
    }

    #[test]
    fn probabilities_agree_differ_or_leave_it_open() {
        // 6.3 % of 20,000 against 6.2 % of a million.
        let near = Difference::of((1260, 20_000), (62_000, 1_000_000), 8);
        assert_eq!(near.result, CheckResult::Held, "{near:?}");
        assert!(near.interval[0] < 0.001 && near.interval[1] > 0.001);
        // A TTL that is 10 % off moves 6.3 % to 4.8 %.
        assert_eq!(
            Difference::of((960, 20_000), (63_000, 1_000_000), 8).result,
            CheckResult::Failed
        );
        assert_eq!(
            Difference::of((63, 1_000), (63_000, 1_000_000), 8).result,
            CheckResult::Inconclusive
        );
        assert_eq!(
            Difference::of((0, 0), (63_000, 1_000_000), 8).result,
            CheckResult::Inconclusive
        );
        // Small probabilities have a margin of half a point.
        assert_eq!(
            Difference::of((12, 10_000), (1_000, 1_000_000), 8).result,
            CheckResult::Held
        );
    }

    /// Newcombe's first example: 56 of 70 against 48 of 80, 0.0524 to 0.3339 with 95 %.
    #[test]
    fn the_interval_is_the_published_one() {
        let [low, high] = interval((56, 70), (48, 80), 0.05);
        assert!(
            (low - 0.0524).abs() < 5e-5 && (high - 0.3339).abs() < 5e-5,
            "{low} {high}"
        );
    }

    #[test]
    fn the_more_comparisons_the_larger_a_difference_must_be() {
        let with = |tests| Difference::of((1_100, 10_000), (100_000, 1_000_000), tests).result;
        assert_eq!((with(1), with(100)), (CheckResult::Failed, CheckResult::Inconclusive));
    }

    #[test]
    fn distributions_are_compared_at_every_value() {
        let even = || of((1..=100).flat_map(|value| [value; 40]));
        assert!(distance(&even(), &even()) < 1e-9);
        let later = of((4..=103).flat_map(|value| [value; 40]));
        assert!((distance(&even(), &later) - 0.03).abs() < 1e-9);
        assert_eq!(Distance::of(&even(), &later).result, CheckResult::Held);
        let much_later = of((8..=107).flat_map(|value| [value; 40]));
        assert_eq!(Distance::of(&even(), &much_later).result, CheckResult::Failed);
        assert_eq!(Distance::of(&of(1..=100), &even()).result, CheckResult::Inconclusive);
        assert_eq!(Distance::of(&histogram(), &even()).result, CheckResult::Inconclusive);
    }

    #[test]
    fn takeovers_need_thirty_and_a_mean_that_is_near() {
        let even = |from: u64, n: u64| of((0..n).map(|value| from + value * 20_000 / n));
        let simulated = even(90_000, 5_000);
        let result = |real: &Histogram<u64>| Likeness::of(real, &simulated, 2).result;
        assert_eq!(result(&even(90_000, 29)), CheckResult::Inconclusive);
        assert_eq!(result(&even(90_000, 60)), CheckResult::Held);
        assert_eq!(result(&even(81_000, 60)), CheckResult::Failed);
    }
}
