//! A distribution as a few hundred values with their weights, for sums over two or three distributions.

/// How often the upper tail is halved: what is beyond has a probability of 1e-12.
const HALVINGS: i32 = 40;
/// The values in each half.
const VALUES: u32 = 8;

/// The places, as probabilities from below, at which a distribution is looked at, and the weight of each. The weights add up
/// to 1. Each half of what is left of the upper tail gets as many places as the half below, so that rare values count.
pub(super) fn places() -> impl Iterator<Item = (f64, f64)> {
    (1..=HALVINGS).flat_map(|half| {
        // What is above the part, and how wide it is; the last part has all the rest.
        let above = 0.5_f64.powi(half);
        let width = if half == HALVINGS { 2.0 * above } else { above };
        (0..VALUES).map(move |value| {
            let share = (f64::from(value) + 0.5) / f64::from(VALUES);
            (1.0 - 2.0 * above + width * share, width / f64::from(VALUES))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_add_up_to_one_and_the_mean_of_a_distribution_is_right() {
        let weights: f64 = places().map(|(_, weight)| weight).sum();
        assert!((weights - 1.0).abs() < 1e-9, "{weights}");
        // An exponential distribution with mean 1.
        let mean: f64 = places().map(|(place, weight)| -(1.0 - place).ln() * weight).sum();
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        assert!(places().all(|(place, _)| (0.0..1.0).contains(&place)));
    }
}
