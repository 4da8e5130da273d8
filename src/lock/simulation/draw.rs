use std::sync::Arc;
use std::time::Duration;

use super::random::Random;
use super::span::Span;
use super::units::nanos;

/// How often the upper tail is halved; what is rarer than 2⁻³² is not drawn.
const HALVES: usize = 32;
/// The steps in each half, a power of two.
const STEPS: usize = 32;

/// A distribution of durations as a table of quantiles, from which one is drawn by inversion. Each half of what is left of the
/// upper tail has as many steps as the half below, so that rare long durations come as often as they should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantiles(Arc<[u64]>);

impl Quantiles {
    /// The distribution of which `exceeded` tells the duration that is exceeded with a given probability; that probability is
    /// above 0 and below 1, and the duration grows as it falls.
    #[must_use]
    pub fn of(exceeded: impl Fn(f64) -> Duration) -> Self {
        let mut longest = 0;
        let table = (0..=HALVES * STEPS).map(|point| {
            let (half, step) = (point / STEPS, point % STEPS);
            let p = 0.5_f64.powi(i32::try_from(half).unwrap_or(i32::MAX)) * (1.0 - step as f64 / (2 * STEPS) as f64);
            // Nothing is known of what is exceeded always.
            longest = longest.max(nanos(exceeded(p.min(1.0 - 1e-6))));
            longest
        });
        Self(table.collect())
    }

    /// The longest duration that is drawn.
    #[must_use]
    pub fn most(&self) -> Duration {
        Duration::from_nanos(self.0.last().copied().unwrap_or(0))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "all numbers are below 2^38, and positions below the table's length"
    )]
    fn draw(&self, random: &mut Random) -> u64 {
        let drawn = random.next();
        // The number, as a part of the whole range, is the probability with which the duration is exceeded.
        let half = (drawn.leading_zeros() as usize).min(HALVES - 1);
        // What follows its leading one: 5 bits of step and 32 within the step, counted from the other end.
        let below = !(drawn << half << 1);
        let step = (below >> 59) as usize;
        let within = (below >> 27) & 0xffff_ffff;
        let point = half * STEPS + step;
        let (from, to) = (self.0[point], self.0[point + 1]);
        from + ((u128::from(to - from) * u128::from(within)) >> 32) as u64
    }
}

/// How a duration is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Draw {
    /// Evenly from a range.
    Even(Span),
    /// By quantiles.
    Quantiles(Quantiles),
}

impl Draw {
    /// The longest duration that is drawn.
    #[must_use]
    pub fn most(&self) -> Duration {
        match self {
            Self::Even(span) => span.most,
            Self::Quantiles(quantiles) => quantiles.most(),
        }
    }

    /// Whether the shortest is not longer than the longest.
    pub(super) fn is_ordered(&self) -> bool {
        match self {
            Self::Even(span) => span.least <= span.most,
            Self::Quantiles(_) => true,
        }
    }

    /// Draws a duration, in nanoseconds.
    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Even(span) => random.within(*span),
            Self::Quantiles(quantiles) => quantiles.draw(random),
        }
    }
}

impl From<Span> for Draw {
    fn from(span: Span) -> Self {
        Self::Even(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exponential with a mean of a second: its logarithm of the exceeded probability is the duration.
    fn exponential() -> Quantiles {
        Quantiles::of(|p| Duration::from_secs_f64(-p.ln()))
    }

    #[test]
    fn what_is_drawn_is_distributed_like_the_quantiles_far_into_the_tail() {
        const DRAWS: u32 = 2_000_000;
        let (quantiles, mut random) = (exponential(), Random::new(3));
        let drawn: Vec<f64> = (0..DRAWS).map(|_| quantiles.draw(&mut random) as f64 / 1e9).collect();
        let mean = drawn.iter().sum::<f64>() / f64::from(DRAWS);
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        for seconds in [0.1, 0.7, 2.0, 5.0, 9.0_f64] {
            let p = (-seconds).exp();
            let seen = drawn.iter().filter(|&&value| value > seconds).count() as f64 / f64::from(DRAWS);
            // Four standard errors, and the steps' half percent.
            let error = 4.0 * (p / f64::from(DRAWS)).sqrt() + 0.005 * p;
            assert!((seen - p).abs() < error, "more than {seconds} s: {seen}, {p} expected");
        }
    }

    #[test]
    fn the_longest_and_constants() {
        assert!((exponential().most().as_secs_f64() - 32.0 * 2_f64.ln()).abs() < 1e-6);
        let constant = Quantiles::of(|_| Duration::from_millis(5));
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| constant.draw(&mut random) == 5_000_000));
        assert_eq!(Draw::from(Span::micros(1, 9)).most(), Duration::from_micros(9));
    }
}
