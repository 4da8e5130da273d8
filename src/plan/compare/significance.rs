//! When a difference counts as shown, with many figures looked at, and how many runs it takes.

use crate::formulas::normal_quantile_beyond;
use lockstorm_data::metrics::units::rounded;

/// How often a comparison of equals may call anything different: once in a hundred, over all its primary figures together.
pub(super) const ALPHA: f64 = 0.01;
/// How often a difference that is there is to be found.
const POWER: f64 = 0.8;
/// More runs than this are not asked for: the difference is too small to matter.
const MOST: u64 = 200;

/// The probabilities of several tests, each so adjusted that it can be held against the error that all of them together may make
/// (Holm 1979, step-down).
pub(super) fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|one, other| p[*one].total_cmp(&p[*other]));
    let (mut adjusted, mut least) = (vec![1.0; p.len()], 0.0_f64);
    for (step, index) in order.into_iter().enumerate() {
        least = least.max(p[index] * (p.len() - step) as f64).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

/// The fewest runs of each group, or pairs, with which one of so many figures can be shown to differ at all: the smallest
/// probability of the exact test is 2 · n!² / (2n)! for groups of n, and 2 / 2ⁿ for n pairs.
pub fn fewest(tests: usize, is_paired: bool) -> u64 {
    let wanted = ALPHA / tests.max(1) as f64;
    let (mut n, mut least) = (1.0, 1.0);
    while least > wanted {
        n += 1.0;
        least *= if is_paired { 0.5 } else { n / (2.0 * (2.0 * n - 1.0)) };
    }
    rounded(n)
}

/// How many runs of each group, or pairs, it takes to show a difference as large as the one seen with a probability of 80 %
/// (Noether 1987); `None` if more than [`MOST`]. `more` is that of [`Shift`](super::ranks::Shift).
pub(super) fn needed(more: f64, tests: usize, is_paired: bool) -> Option<u64> {
    if (more - 0.5).abs() > 0.5 - 1e-9 {
        // All of one side are above all of the other.
        return Some(fewest(tests, is_paired));
    }
    let z = normal_quantile_beyond(ALPHA / (2.0 * tests.max(1) as f64)) + normal_quantile_beyond(1.0 - POWER);
    let all = z * z / (3.0 * (more - 0.5).powi(2));
    let each = if is_paired { all } else { all / 2.0 };
    (each <= MOST as f64).then(|| rounded(each.ceil()).max(fewest(tests, is_paired)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_asks_most_of_the_smallest_and_never_turns_the_order_round() {
        let adjusted = holm(&[0.04, 0.01, 0.03]);
        let expected = [0.06, 0.03, 0.06];
        assert!(
            adjusted
                .iter()
                .zip(expected)
                .all(|(one, other)| (one - other).abs() < 1e-12),
            "{adjusted:?}"
        );
        assert_eq!(holm(&[0.5, 0.6]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_figure_among_many_takes_more_runs() {
        // 2 / C(10, 5) = .0079 is enough for one figure, 2 / C(12, 6) = .0022 for four, 2 / C(14, 7) = .0006 for 16.
        assert_eq!([1, 4, 16, 64].map(|tests| fewest(tests, false)), [5, 6, 7, 8]);
        // 2 / 2⁸ = .0078.
        assert_eq!([1, 4, 16].map(|tests| fewest(tests, true)), [8, 10, 12]);
    }

    #[test]
    fn a_small_difference_takes_more_runs_than_a_large_one_and_none_takes_too_many() {
        assert_eq!(needed(1.0, 8, false), Some(fewest(8, false)));
        let [large, small] = [0.95, 0.7].map(|more| needed(more, 8, false));
        assert_eq!(large, Some(14));
        assert!(small > large, "{small:?} {large:?}");
        assert_eq!(needed(0.5, 8, false), None);
        assert_eq!(needed(0.3, 8, false), small, "less is as far as more");
    }
}
