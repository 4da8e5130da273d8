//! The random choices of a request.

use std::time::Duration;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal, Zipf};

use lockstorm_data::metrics::units::rounded;
use lockstorm_data::scenario::{Popularity, ServiceTime};

/// The longest time that is drawn from a log-normal distribution, in medians, so that one draw can't outlast the run.
const LONGEST: f64 = 100.0;

/// Draws a time.
pub fn draw(time: ServiceTime, rng: &mut impl Rng) -> Duration {
    if time.median.is_zero() || time.sigma == 0.0 {
        return time.median;
    }
    let normal: f64 = rng.sample(StandardNormal);
    time.median.mul_f64((time.sigma * normal).exp().min(LONGEST))
}

/// Chooses one of the numbers from 0 to `n - 1`. By Zipf's law 0 is the most popular.
#[derive(Debug, Clone, Copy)]
pub enum Choice {
    Uniform(u64),
    Zipf(Zipf<f64>),
}

impl Choice {
    /// A choice among `n` numbers; `n` is at least 1.
    pub fn new(popularity: Popularity, n: u64) -> Self {
        match popularity {
            Popularity::Uniform => None,
            Popularity::Zipf(exponent) => Zipf::new(n as f64, exponent).ok(),
        }
        .map_or(Self::Uniform(n.max(1)), Self::Zipf)
    }

    /// Draws a number.
    pub fn draw(&self, rng: &mut impl Rng) -> u64 {
        match self {
            Self::Uniform(n) => rng.random_range(0..*n),
            Self::Zipf(zipf) => rounded(zipf.sample(rng)).saturating_sub(1),
        }
    }
}

/// Draws a position by weight. If no weight is positive, the first is drawn.
pub fn weighted<T>(items: &[T], weight: impl Fn(&T) -> f64, rng: &mut impl Rng) -> usize {
    let total: f64 = items.iter().map(&weight).sum();
    let mut left = rng.random::<f64>() * total;
    for (position, item) in items.iter().enumerate() {
        left -= weight(item);
        if left < 0.0 {
            return position;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    fn counts(choice: Choice, n: usize) -> Vec<u32> {
        let mut rng = SmallRng::seed_from_u64(7);
        let mut counts = vec![0; n];
        for _ in 0..20_000 {
            counts[usize::try_from(choice.draw(&mut rng)).expect("a small number")] += 1;
        }
        counts
    }

    #[test]
    fn uniform_draws_all_alike_and_zipf_by_rank() {
        let uniform = counts(Choice::new(Popularity::Uniform, 4), 4);
        assert!(uniform.iter().all(|count| count.abs_diff(5000) < 400), "{uniform:?}");
        // 1 : 1/2 : 1/3 : 1/4 of 25/12.
        let zipf = counts(Choice::new(Popularity::Zipf(1.0), 4), 4);
        for (count, expected) in zipf.iter().zip([9600, 4800, 3200, 2400]) {
            assert!(count.abs_diff(expected) < 400, "{zipf:?}");
        }
    }

    #[test]
    fn one_key_is_always_that_key() {
        assert_eq!(counts(Choice::new(Popularity::Zipf(1.2), 1), 1), [20_000]);
    }

    #[test]
    fn times_are_log_normal_around_their_median() {
        let mut rng = SmallRng::seed_from_u64(7);
        let time = ServiceTime {
            median: Duration::from_millis(20),
            sigma: 0.6,
        };
        let mut draws: Vec<_> = (0..20_001).map(|_| draw(time, &mut rng)).collect();
        draws.sort_unstable();
        // Quantiles in closed form: median · e^(σz), z = 0 and 2.326 (99 %).
        let median = draws[10_000].as_secs_f64();
        let p99 = draws[19_800].as_secs_f64();
        assert!((0.0195..0.0205).contains(&median), "{median}");
        assert!((0.074..0.088).contains(&p99), "{p99}");
    }

    #[test]
    fn constants_are_constant_and_the_tail_is_cut() {
        let mut rng = SmallRng::seed_from_u64(7);
        let time = |millis, sigma| ServiceTime {
            median: Duration::from_millis(millis),
            sigma,
        };
        assert_eq!(draw(time(5, 0.0), &mut rng), Duration::from_millis(5));
        assert_eq!(draw(time(0, 3.0), &mut rng), Duration::ZERO);
        let longest = (0..10_000).map(|_| draw(time(1, 50.0), &mut rng)).max();
        assert_eq!(longest, Some(Duration::from_millis(100)));
    }

    #[test]
    fn positions_are_drawn_by_weight() {
        let mut rng = SmallRng::seed_from_u64(7);
        let mut counts = [0_u32; 3];
        for _ in 0..10_000 {
            counts[weighted(&[3.0, 0.0, 1.0], |weight| *weight, &mut rng)] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!(counts[0].abs_diff(7500) < 300, "{counts:?}");
    }
}
