use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

/// How many sections of a run are to be expected to outlast their lock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Predicted {
    /// The mean.
    pub expected: f64,
    /// The 99 % prediction interval, both ends included: quantiles of the binomial distribution.
    pub interval: [u64; 2],
}

impl Predicted {
    /// For so many sections, each of which outlasts its lock with the probability `p`.
    pub(super) fn of(sections: u64, p: f64) -> Self {
        let p = p.clamp(0.0, 1.0);
        let interval = match Binomial::new(p, sections) {
            Ok(overran) if p > 0.0 => [0.005, 0.995].map(|part| overran.inverse_cdf(part)),
            _ => [0, 0],
        };
        Self {
            expected: sections as f64 * p,
            interval,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_has_99_of_100_runs() {
        // The mean is 52, and the standard deviation 7.1.
        let seen = Predicted::of(2000, 0.026);
        assert!((seen.expected - 52.0).abs() < 1e-9);
        assert!(
            (33..=36).contains(&seen.interval[0]) && (69..=72).contains(&seen.interval[1]),
            "{seen:?}"
        );
        assert_eq!(Predicted::of(2000, 3.4e-5).interval, [0, 1]);
        assert_eq!(Predicted::of(2000, 0.0).interval, [0, 0]);
        assert_eq!(Predicted::of(50, 1.0).interval, [50, 50]);
    }
}
