//! Several pauses in one section, none of which would do harm alone.

use super::measured::Bound;
use super::spread::Spread;

/// Steps of the time that is left.
const STEPS: usize = 256;
/// What is less probable is lost in what the sums are rounded by.
const NEVER: f64 = 1e-13;
/// What sums are divided by when they have grown so large, since a float has no room for more.
const LARGE: f64 = 1e200;

/// The probability that pauses which are as long as `left` seconds at most last longer than `left` together, if `often` of them begin
/// on average, independently of each other.
///
/// Their sum is compound Poisson: Panjer's recursion (1981), on steps that keep the mean (local moment matching, Gerber 1982).
/// What one pause is enough for is taken off on the same steps.
pub(super) fn are_too_long(length: &Spread, often: f64, left: f64, bound: Bound) -> f64 {
    if often <= 0.0 || left <= 0.0 || !is_worth_it(length, often, left, bound) {
        return 0.0;
    }
    let step = left / STEPS as f64;
    let beyond: Vec<f64> = (0..=STEPS + 1)
        .map(|n| length.excess(n as f64 * step, bound) / step)
        .collect();
    let mut lengths = vec![(1.0 - beyond[0] + beyond[1]).max(0.0)];
    lengths.extend(
        beyond
            .windows(3)
            .map(|three| (three[0] - 2.0 * three[1] + three[2]).max(0.0)),
    );
    // Of very many pauses the probability of none is too small for a float: all are larger by a factor, whose logarithm this is.
    let mut factor = often * (1.0 - lengths[0]);
    let mut sums = vec![1.0];
    for sum in 1..=STEPS {
        let terms = (1..=sum).map(|n| n as f64 * lengths[n] * sums[sum - n]);
        sums.push(often / sum as f64 * terms.sum::<f64>());
        if sums[sum] > LARGE {
            for sum in &mut sums {
                *sum /= LARGE;
            }
            factor -= LARGE.ln();
        }
    }
    // A step is spread around its place, so half of the last one is beyond.
    let within = |steps: &[f64]| steps[..STEPS].iter().sum::<f64>() + steps[STEPS] / 2.0;
    let all_within = (within(&sums).ln() - factor).exp();
    let each_within = (-often * (1.0 - within(&lengths))).exp();
    match each_within - all_within {
        none if none < NEVER => 0.0,
        some => some,
    }
}

/// Whether it can be probable enough: of n pauses that are too long together, one is longer than an nth of what is left.
fn is_worth_it(length: &Spread, often: f64, left: f64, bound: Bound) -> bool {
    let (mut n, mut comes, mut most) = (1.0, often * (-often).exp(), 0.0);
    while n < often || comes > NEVER / n {
        n += 1.0;
        comes *= often / n;
        most += comes * n * length.beyond_at(left / n, bound);
        if most > NEVER || comes <= 0.0 {
            return true;
        }
    }
    false
}
