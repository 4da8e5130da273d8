//! The closed forms, each with its source. Times are in seconds, probabilities 0 to 1.

use std::time::Duration;

pub use lockstorm_data::metrics::restart_delay;
use lockstorm_lock::protocol::{quorum, validity};
use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::factorial::binomial;

/// How long a lock with this TTL may be relied on, counted from before it was asked for: the TTL less 1 % and 2 ms, the lock
/// engine's own [`validity`]; Redlock's `TTL − drift`
/// (<https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/>). 0 for TTLs that are too short to be relied on.
pub fn reliable(ttl: f64) -> f64 {
    // A TTL that no duration can hold is longer than any other time here.
    Duration::try_from_secs_f64(ttl).map_or(ttl * 0.99, |ttl| validity(ttl).as_secs_f64())
}

/// The shortest TTL that can be relied on for `needed` seconds: the inverse of [`reliable`].
pub fn ttl_for(needed: f64) -> f64 {
    (needed + 0.002) / 0.99
}

/// The probability that fewer than a quorum of `nodes` have answered, if each is still silent with the probability `silent`,
/// independently: the survival function of an order statistic (David and Nagaraja, Order Statistics, 2003, 2.1.3).
pub fn quorum_is_missing(nodes: usize, silent: f64) -> f64 {
    // The sum over the number of nodes that have answered, from none to one less than a quorum.
    let term = |answered: usize| {
        let (all, some) = (nodes as u64, answered as u64);
        #[expect(
            clippy::cast_possible_wrap,
            clippy::cast_possible_truncation,
            reason = "64 nodes at most"
        )]
        let (answered, quiet) = (answered as i32, (nodes - answered) as i32);
        binomial(all, some) * (1.0 - silent).powi(answered) * silent.powi(quiet)
    };
    (0..quorum(nodes)).map(term).sum::<f64>().clamp(0.0, 1.0)
}

/// How many times a renewal can be tried before a lock expires whose renewals all fail: ⌈TTL / interval⌉ − 1.
pub fn attempts_before_expiry(ttl: f64, interval: f64) -> f64 {
    ((ttl / interval).ceil() - 1.0).max(0.0)
}

/// The mean time from a crash of a renewed lock's holder until others can have it, if the crash is equally likely at any time of
/// the section: the TTL less the mean time since the last renewal, or since the acquire. For sections of many intervals that is
/// `ttl − interval / 2`; those that are shorter than an interval are never renewed. `holds` are values with their weights.
pub fn takeover_of_renewed(ttl: f64, interval: f64, holds: &[(f64, f64)]) -> f64 {
    let mean: f64 = holds.iter().map(|(hold, weight)| hold * weight).sum();
    // The integral of the time since the last renewal over each section.
    let since = |hold: f64| {
        let whole = (hold / interval).floor();
        let rest = hold - whole * interval;
        whole * interval * interval / 2.0 + rest * rest / 2.0
    };
    let all: f64 = holds.iter().map(|&(hold, weight)| since(hold) * weight).sum();
    if mean > 0.0 { ttl - all / mean } else { ttl }
}

/// The mean time from a crash of the holder of a lock without renewal until others can have it, if the crash is equally likely at
/// any time of the section: the TTL less the mean age of a section that is looked at, E\[H²\] / 2 E\[H\] (the renewal paradox;
/// Cox, Renewal Theory, 1962, 5.1), where sections longer than the TTL leave nothing to wait for. `holds` are values with their
/// weights.
pub fn takeover_without_renewal(ttl: f64, holds: &[(f64, f64)]) -> f64 {
    let mean: f64 = holds.iter().map(|(hold, weight)| hold * weight).sum();
    // The integral of the rest of the TTL over each section.
    let rest = |hold: f64| {
        let held = hold.min(ttl);
        ttl * held - held * held / 2.0
    };
    let rests: f64 = holds.iter().map(|&(hold, weight)| rest(hold) * weight).sum();
    if mean > 0.0 { rests / mean } else { ttl }
}

/// The probability that a pause of the length `pause` makes a renewed lock expire, if it begins equally likely at any time
/// between two renewals: it must be longer than what the last renewal has left, which is spread evenly from
/// `reliable − interval` to `reliable`.
pub fn pause_outlasts(pause: f64, reliable: f64, interval: f64) -> f64 {
    ((pause - (reliable - interval)) / interval).clamp(0.0, 1.0)
}

/// The 95 % interval of the probability of something that happened `k` times of `n`, k a real number here (Wilson 1927).
pub fn wilson(k: f64, n: f64) -> (f64, f64) {
    /// The 97.5th percentile of the standard normal distribution.
    const Z: f64 = 1.959_964;
    wilson_at(k, n, Z)
}

/// The interval, with any confidence, of the probability of something that happened `k` times of `n`, k a real number here
/// (Wilson 1927): `z` is what a standard normal variable exceeds with half the probability of a miss.
pub fn wilson_at(k: f64, n: f64, z: f64) -> (f64, f64) {
    let (p, z2) = ((k / n).clamp(0.0, 1.0), z * z);
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let reach = z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // Rounding must not leave a trace where the end is 0 or 1.
    let low = if k <= 0.0 { 0.0 } else { (middle - reach).max(0.0) };
    let high = if k >= n { 1.0 } else { (middle + reach).min(1.0) };
    (low, high)
}

/// The probability that a standard normal variable is more than `z`.
pub fn normal_beyond(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// The mean of `max(X − x, 0)` of a log-normal variable X with this median and this standard deviation of its logarithm, above 0:
/// the integral of the probability of more than x from `x` on (the stop-loss premium; Klugman, Panjer and Willmot, Loss Models, 2012,
/// A.5.1).
pub fn log_normal_excess(median: f64, sigma: f64, x: f64) -> f64 {
    let mean = median * (sigma * sigma / 2.0).exp();
    if x <= 0.0 {
        return mean - x;
    }
    let z = (x / median).ln() / sigma;
    // Far in the tail rounding may leave less than nothing.
    (mean * normal_beyond(z - sigma) - x * normal_beyond(z)).max(0.0)
}

/// What a standard normal variable exceeds with the probability `p`: the inverse of [`normal_beyond`].
pub fn normal_quantile_beyond(p: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(2.0 * p)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by, "{a} is not {b} ± {by}");
    }

    #[test]
    fn the_reliable_part_of_a_ttl_and_back() {
        near(reliable(0.030), 0.0277, 1e-9);
        near(ttl_for(reliable(0.25)), 0.25, 1e-9);
        assert!(reliable(0.001) <= 0.0);
    }

    #[test]
    fn a_quorum_is_missing_as_often_as_counting_says() {
        // All outcomes of three nodes and of five, one by one.
        for nodes in [1_usize, 2, 3, 5] {
            for silent in [0.0, 0.1, 0.5, 1.0] {
                let mut missing = 0.0;
                for outcome in 0..1_u32 << nodes {
                    let answered = outcome.count_ones() as usize;
                    let p: f64 = (0..nodes)
                        .map(|node| if outcome >> node & 1 == 1 { 1.0 - silent } else { silent })
                        .product();
                    missing += if answered < quorum(nodes) { p } else { 0.0 };
                }
                near(quorum_is_missing(nodes, silent), missing, 1e-12);
            }
        }
    }

    /// As measured on real nodes: renewal every 200 ms of 600 ms, mean 514 ms seen, 500 expected.
    #[test]
    fn takeovers_take_what_is_left_of_the_ttl() {
        near(takeover_of_renewed(0.6, 0.2, &[(200.0, 1.0)]), 0.5, 1e-9);
        // Shorter than an interval: 0 to 20 ms since the acquire.
        near(takeover_of_renewed(0.6, 0.3, &[(0.020, 1.0)]), 0.590, 1e-12);
        // Sections of 0.4 s: the crash comes after 0 to 0.4 s.
        near(takeover_without_renewal(1.0, &[(0.4, 1.0)]), 0.8, 1e-12);
        // Sections of 2 s outlast the lock: half of the crashes come when it has expired.
        near(takeover_without_renewal(1.0, &[(2.0, 1.0)]), 0.25, 1e-12);
        near(takeover_without_renewal(1.0, &[(0.0, 1.0)]), 1.0, 1e-12);
    }

    #[test]
    fn renewals_can_be_tried_again_before_the_lock_expires() {
        for (parts, attempts) in [(3.0, 2.0), (2.0, 1.0), (1.0, 0.0)] {
            near(attempts_before_expiry(6.0, 6.0 / parts), attempts, 1e-12);
        }
    }

    #[test]
    fn a_pause_outlasts_a_renewed_lock_sometimes_always_or_never() {
        for (pause, p) in [(0.3, 0.0), (0.5, 0.5), (0.7, 1.0)] {
            near(pause_outlasts(pause, 0.6, 0.2), p, 1e-12);
        }
    }

    #[test]
    fn what_is_in_excess_is_the_integral_of_what_lies_beyond() {
        let (median, sigma) = (0.1, 1.0);
        for x in [-0.5_f64, 0.0, 0.05, 0.4, 3.0, 20.0] {
            // By the midpoint rule, in steps of a ten thousandth of the distance.
            let beyond = |value: f64| normal_beyond((value.max(1e-300) / median).ln() / sigma);
            let ratio = 1.000_5_f64;
            let (mut at, mut sum) = (x.max(1e-6), 1e-6_f64.max(x) - x);
            while at < 1e4 {
                sum += beyond(at * ratio.sqrt()) * at * (ratio - 1.0);
                at *= ratio;
            }
            near(log_normal_excess(median, sigma, x) / sum, 1.0, 1e-4);
        }
    }

    #[test]
    fn quantiles_and_intervals() {
        near(normal_beyond(1.959_964), 0.025, 1e-7);
        for p in [0.4, 1e-3, 1e-9] {
            near(normal_beyond(normal_quantile_beyond(p)) / p, 1.0, 1e-6);
        }
        let (low, high) = wilson(3.0, 10_000.0);
        assert!(
            low > 0.9e-4 && low < 1.1e-4 && high > 8.6e-4 && high < 9e-4,
            "{low} {high}"
        );
        let (none, some) = wilson(0.0, 100.0);
        assert!(none == 0.0 && (0.036..0.038).contains(&some), "{some}");
    }
}
