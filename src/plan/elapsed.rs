//! The time until a quorum has answered.

use super::bins;
use super::formulas::quorum_is_missing;
use super::measured::Bound;
use super::spread::Spread;

/// The times, in seconds, until a quorum of so many nodes has answered that are asked at once and answer independently, with
/// their weights.
pub(super) fn until_quorum(round_trip: &Spread, nodes: usize) -> Vec<(f64, f64)> {
    if let Spread::Constant(always) = round_trip {
        return vec![(*always, 1.0)];
    }
    bins::places()
        .map(|(place, weight)| (round_trip.quantile(1.0 - silent_at(nodes, 1.0 - place)), weight))
        .collect()
}

/// The probability of more than `value` seconds until then.
pub(super) fn beyond(round_trip: &Spread, nodes: usize, value: f64) -> f64 {
    quorum_is_missing(nodes, round_trip.beyond_at(value, Bound::Mid))
}

/// How many of all nodes are silent when a quorum is missing with the probability `p`, by bisection.
fn silent_at(nodes: usize, p: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0);
    // Halving the logarithm keeps small probabilities exact.
    for _ in 0..60 {
        let middle = if low == 0.0 { high / 8.0 } else { (low * high).sqrt() };
        if quorum_is_missing(nodes, middle) > p {
            high = middle;
        } else {
            low = middle;
        }
        if low > 0.0 && high / low < 1.0 + 1e-9 {
            break;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quorum_of_one_is_its_only_node_and_more_nodes_are_nearer_to_the_median() {
        let round_trip = Spread::LogNormal {
            median: 0.010,
            sigma: 0.5,
        };
        let mean = |nodes| -> f64 { until_quorum(&round_trip, nodes).iter().map(|(t, w)| t * w).sum() };
        assert!((mean(1) / round_trip.mean() - 1.0).abs() < 0.01, "{}", mean(1));
        // The median of three and of five log-normal variables, by their densities.
        assert!((mean(3) / 0.01059 - 1.0).abs() < 0.01, "{}", mean(3));
        assert!(mean(5) < mean(3) && mean(5) > 0.010);
        assert!((beyond(&round_trip, 3, 0.010) - 0.5).abs() < 1e-9);
    }
}
