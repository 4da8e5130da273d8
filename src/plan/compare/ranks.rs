//! Exact tests by ranks: of two groups (Wilcoxon 1945, Mann and Whitney 1947), and of pairs (Wilcoxon's signed ranks).
//!
//! Under the hypothesis that nothing differs, every way of dealing the values out to the two groups, or of giving the differences
//! of pairs their signs, is equally likely. What is counted is in how many of these ways the sum of ranks is as far from its mean as
//! the one that was seen. No distribution is assumed; equal values share their ranks.

use crate::formulas::{normal_beyond, normal_quantile_beyond};
use lockstorm_data::metrics::units::place;

/// With more values than this the sum of ranks is taken for normally distributed, with the variance that ties leave it.
const EXACT: usize = 40;
/// What an interval leaves out on each side.
const LEFT_OUT: f64 = 0.025;

/// How far the values of B are from those of A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shift {
    /// The probability of sums of ranks that are as far from their mean, if nothing differs; two-sided.
    pub p: f64,
    /// The smallest probability that so many values can give.
    pub least_p: f64,
    /// The probability that a value of B is more than one of A, half of the equal ones included; of pairs, that the mean of two
    /// differences is above zero.
    pub more: f64,
    /// By how much B is more: the median of the differences of all pairs of values (Hodges and Lehmann 1963).
    pub estimate: f64,
    /// Its 95 % interval, by the same ranks (Moses; Tukey); `None` for so few values that there is none.
    pub interval: Option<[f64; 2]>,
}

/// Two groups; `None` if one of them is empty.
pub(super) fn unpaired(a: &[f64], b: &[f64]) -> Option<Shift> {
    let (m, n) = (a.len(), b.len());
    let ranks = doubled_ranks(&[a, b].concat());
    let seen: usize = ranks.get(m..).filter(|of_b| !of_b.is_empty() && m > 0)?.iter().sum();
    let differences = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
    let untied: Vec<usize> = (1..=m + n).map(|rank| 2 * rank).collect();
    let (of_values, of_places) = (Sums::of_choices(&ranks, n), Sums::of_choices(&untied, n));
    Some(shift(&of_values, seen, &of_places, n * (n + 1), differences))
}

/// The differences of pairs, B less A; `None` if all of them are zero. Those that are zero have no sign, and are left out of the test.
pub(super) fn paired(differences: &[f64]) -> Option<Shift> {
    let signed: Vec<f64> = differences.iter().copied().filter(|one| *one != 0.0).collect();
    if signed.is_empty() {
        return None;
    }
    let ranks = doubled_ranks(&signed.iter().map(|one| one.abs()).collect::<Vec<_>>());
    let seen = ranks
        .iter()
        .zip(&signed)
        .filter(|(_, one)| **one > 0.0)
        .map(|(rank, _)| rank)
        .sum();
    let untied: Vec<usize> = (1..=differences.len()).map(|rank| 2 * rank).collect();
    let (of_values, of_places) = (Sums::of_signs(&ranks), Sums::of_signs(&untied));
    let means = differences.iter().enumerate();
    let means = means.flat_map(|(place, one)| {
        differences[place..]
            .iter()
            .map(move |other| f64::midpoint(*one, *other))
    });
    Some(shift(&of_values, seen, &of_places, 0, means.collect()))
}

/// `least` is the smallest sum of ranks that are not tied.
fn shift(of_values: &Sums, seen: usize, of_places: &Sums, least: usize, mut differences: Vec<f64>) -> Shift {
    differences.sort_unstable_by(f64::total_cmp);
    let count = differences.len();
    let estimate = f64::midpoint(differences[(count - 1) / 2], differences[count / 2]);
    // So many differences lie outside on each side. Doubled ranks have doubled sums.
    let outside = of_places
        .below(LEFT_OUT)
        .map_or(0, |sum| (sum.saturating_sub(least)) / 2 + 1);
    let interval =
        (outside > 0 && 2 * outside <= count).then(|| [differences[outside - 1], differences[count - outside]]);
    let equal = differences.iter().filter(|one| **one == 0.0).count() as f64;
    let above = differences.iter().filter(|one| **one > 0.0).count() as f64;
    Shift {
        p: of_values.as_far(seen),
        least_p: of_places.as_far(least),
        more: (above + equal / 2.0) / count as f64,
        estimate,
        interval,
    }
}

/// The ranks from 1, twice each: equal values share the mean of theirs.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let below = |value: &f64| values.iter().filter(|other| other.total_cmp(value).is_lt()).count();
    let equal = |value: &f64| values.iter().filter(|other| other.total_cmp(value).is_eq()).count();
    values.iter().map(|value| 2 * below(value) + equal(value) + 1).collect()
}

/// The distribution of a sum of ranks.
enum Sums {
    /// The probability of each sum.
    Exact(Vec<f64>),
    Normal {
        mean: f64,
        deviation: f64,
    },
}

impl Sums {
    /// Of `n` of these ranks, each choice equally likely.
    fn of_choices(ranks: &[usize], n: usize) -> Self {
        let all: usize = ranks.iter().sum();
        let (many, count) = (ranks.len() as f64, n as f64);
        if ranks.len() > EXACT {
            let mean = all as f64 / many;
            let squares: f64 = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum();
            let variance = count * (many - count) / (many * (many - 1.0)) * squares;
            return Self::Normal {
                mean: count * mean,
                deviation: variance.sqrt(),
            };
        }
        // How many choices of so many ranks have this sum.
        let mut ways = vec![vec![0.0; all + 1]; n + 1];
        ways[0][0] = 1.0;
        for rank in ranks {
            for taken in (1..=n).rev() {
                for sum in *rank..=all {
                    ways[taken][sum] += ways[taken - 1][sum - rank];
                }
            }
        }
        Self::exact(ways.swap_remove(n))
    }

    /// Of those of these ranks whose sign is positive, each sign equally likely.
    fn of_signs(ranks: &[usize]) -> Self {
        let all: usize = ranks.iter().sum();
        if ranks.len() > EXACT {
            let squares: f64 = ranks.iter().map(|rank| (*rank as f64).powi(2)).sum();
            return Self::Normal {
                mean: all as f64 / 2.0,
                deviation: squares.sqrt() / 2.0,
            };
        }
        let mut ways = vec![0.0; all + 1];
        ways[0] = 1.0;
        for rank in ranks {
            for sum in (*rank..=all).rev() {
                ways[sum] += ways[sum - rank];
            }
        }
        Self::exact(ways)
    }

    fn exact(ways: Vec<f64>) -> Self {
        let all: f64 = ways.iter().sum();
        Self::Exact(ways.into_iter().map(|ways| ways / all).collect())
    }

    /// The probability of sums that are at least as far from their mean as this one.
    fn as_far(&self, seen: usize) -> f64 {
        match self {
            Self::Exact(part) => {
                let of = |(sum, part): (usize, &f64)| (sum as f64, *part);
                let mean: f64 = part.iter().enumerate().map(of).map(|(sum, part)| sum * part).sum();
                let far = (seen as f64 - mean).abs() - 1e-6;
                let as_far = part
                    .iter()
                    .enumerate()
                    .map(of)
                    .filter(|(sum, _)| (sum - mean).abs() >= far);
                as_far.map(|(_, part)| part).sum::<f64>().min(1.0)
            }
            Self::Normal { deviation, .. } if *deviation <= 0.0 => 1.0,
            Self::Normal { mean, deviation } => {
                // Half of the step from one sum to the next.
                let far = ((seen as f64 - mean).abs() - 1.0).max(0.0);
                (2.0 * normal_beyond(far / deviation)).min(1.0)
            }
        }
    }

    /// The largest sum that is not exceeded with at most this probability; `None` if there is none.
    fn below(&self, part: f64) -> Option<usize> {
        match self {
            Self::Exact(parts) => {
                let mut until = 0.0;
                let within = parts.iter().enumerate().take_while(|(_, one)| {
                    until += **one;
                    until <= part
                });
                within.filter(|(_, one)| **one > 0.0).last().map(|(sum, _)| sum)
            }
            Self::Normal { mean, deviation } => {
                Some(place((mean - normal_quantile_beyond(part) * deviation - 1.0).floor()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-4
    }

    #[test]
    fn groups_that_do_not_overlap_have_the_least_probability_of_their_size() {
        let a: Vec<f64> = (0..8).map(f64::from).collect();
        let b: Vec<f64> = (10..18).map(f64::from).collect();
        let shift = unpaired(&a, &b).expect("values");
        // 2 of 16! / (8! · 8!) = 12,870 ways.
        assert!(
            close(shift.p, 2.0 / 12_870.0) && close(shift.p, shift.least_p),
            "{shift:?}"
        );
        assert_eq!((shift.more, shift.estimate), (1.0, 10.0));
        // Eight of eight against none of eight.
        let shift = unpaired(&[0.0; 8], &[5.0, 7.0, 1.0, 2.0, 9.0, 4.0, 3.0, 8.0]).expect("values");
        assert!(close(shift.p, 2.0 / 12_870.0), "{shift:?}");
        assert!(shift.interval.is_some_and(|[low, _]| low > 0.0), "{shift:?}");
    }

    #[test]
    fn a_published_example_of_two_groups_comes_out_as_published() {
        // Hollander and Wolfe 1999, table 4.1: permeability of membranes; p = .2544 two-sided, estimate −.305, 96 % interval −.76 to .15.
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        let shift = unpaired(&at_term, &earlier).expect("values");
        assert!(close(shift.p, 0.2544), "{shift:?}");
        assert!(close(shift.estimate, -0.305), "{shift:?}");
        let [low, high] = shift.interval.expect("an interval");
        assert!(close(low, -0.76) && close(high, 0.15), "{shift:?}");
    }

    #[test]
    fn a_published_example_of_pairs_comes_out_as_published() {
        // Hollander and Wolfe 1999, table 3.1: Hamilton depression scale; p = .0391 two-sided, estimate −.46, interval −.786 to −.01.
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [878.0, 647.0, 598.0, 2050.0, 1060.0, 1290.0, 1060.0, 3140.0, 1290.0].map(|one| one / 1e3);
        let differences: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
        let shift = paired(&differences).expect("differences");
        assert!(close(shift.p, 0.0391), "{shift:?}");
        assert!(close(shift.estimate, -0.46), "{shift:?}");
        let [low, high] = shift.interval.expect("an interval");
        assert!(close(low, -0.786) && close(high, -0.01), "{shift:?}");
    }

    #[test]
    fn the_normal_distribution_goes_on_where_exact_sums_end() {
        let value = |place: usize| ((place * 7919) % 101) as f64;
        let a: Vec<f64> = (0..20).map(value).collect();
        let b: Vec<f64> = (20..40).map(|place| value(place) + 12.0).collect();
        let exact = unpaired(&a, &b).expect("values");
        let normal = Sums::of_choices(&doubled_ranks(&[a.clone(), b.clone(), vec![1e9]].concat()), 20);
        assert!(matches!(normal, Sums::Normal { .. }));
        let with_one_more = unpaired(&[a, vec![50.0]].concat(), &b).expect("values");
        assert!(
            (exact.p - with_one_more.p).abs() < 0.05,
            "{} {}",
            exact.p,
            with_one_more.p
        );
        let pairs: Vec<f64> = (0..60).map(|place| value(place) - 30.0).collect();
        let shift = paired(&pairs).expect("values");
        assert!(
            shift.p < 1e-3 && shift.interval.is_some_and(|[low, _]| low > 0.0),
            "{shift:?}"
        );
    }

    #[test]
    fn few_values_have_no_interval_and_equal_ones_show_nothing() {
        let few = unpaired(&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0]).expect("values");
        assert!(few.interval.is_none() && close(few.p, 0.1), "{few:?}");
        let same = unpaired(&[4.0; 8], &[4.0; 8]).expect("values");
        assert!(
            close(same.p, 1.0) && close(same.estimate, 0.0) && close(same.more, 0.5),
            "{same:?}"
        );
        assert_eq!(unpaired(&[], &[1.0]), None);
        assert_eq!(paired(&[0.0, 0.0]), None);
        assert!(close(paired(&[1.0; 8]).expect("differences").p, 2.0_f64.powi(-7)));
    }
}
