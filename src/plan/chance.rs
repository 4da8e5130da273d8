use std::ops::Add;

use serde::Serialize;

/// What a probability rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A distribution that was assumed, so it is as good as the assumption.
    Assumed,
    /// So many measured values, of which more than three were beyond the bound.
    Measured(u64),
    /// The tail that was fitted to so many measured values: it lies beyond what they can show, 3/n.
    Extrapolated(u64),
}

/// A probability, 0 to 1, with the 95 % interval of what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Chance {
    /// The best estimate.
    pub p: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// What it rests on.
    pub basis: Basis,
}

impl Chance {
    /// A probability that follows from what was assumed.
    pub(super) const fn assumed(p: f64) -> Self {
        Self {
            p,
            low: p,
            high: p,
            basis: Basis::Assumed,
        }
    }

    /// Whether it lies beyond what the measured values can show.
    pub const fn is_extrapolated(&self) -> bool {
        matches!(self.basis, Basis::Extrapolated(_))
    }

    /// What each of its numbers becomes under a function that grows.
    #[must_use]
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            p: change(self.p),
            low: change(self.low),
            high: change(self.high),
            ..self
        }
    }

    /// The chance of either of two causes of which only one can be met.
    pub(super) fn or(self, other: Self) -> Self {
        self.with(other, |a, b| (a + b).min(1.0))
    }

    /// Both together. They rest on the weaker of the two bases, unless its part is certainly less than a hundredth of the whole: of a
    /// tail that was fitted to n values, only what they can show is certain, which is 3/n.
    fn with(self, other: Self, either: impl Fn(f64, f64) -> f64) -> Self {
        let high = either(self.high, other.high);
        let (rank, certain) = (
            |part: &Self| match part.basis {
                Basis::Assumed => 0,
                Basis::Measured(_) => 1,
                Basis::Extrapolated(_) => 2,
            },
            |part: &Self| match part.basis {
                Basis::Extrapolated(n) => part.high.max(3.0 / n as f64),
                _ => part.high,
            },
        );
        let counts = |part: &&Self| certain(part) >= 0.01 * high;
        let weakest = [self, other]
            .iter()
            .filter(counts)
            .max_by_key(|part| rank(part))
            .copied();
        Self {
            p: either(self.p, other.p),
            low: either(self.low, other.low),
            high,
            basis: weakest.unwrap_or(self).basis,
        }
    }
}

impl Add for Chance {
    type Output = Self;

    /// The chance of either of two independent causes.
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b - a * b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_rests_on_its_weakest_part_that_matters() {
        let shaky = |p: f64| Chance {
            high: 3.0 * p,
            basis: Basis::Extrapolated(100),
            ..Chance::assumed(p)
        };
        let sum = Chance::assumed(0.5) + shaky(0.1);
        assert!((sum.p - 0.55).abs() < 1e-12 && sum.is_extrapolated(), "{sum:?}");
        // What is beyond a hundred values may be as much as 3 %.
        assert!((Chance::assumed(0.5) + shaky(1e-6)).is_extrapolated());
        let of_many = Chance {
            basis: Basis::Extrapolated(100_000),
            ..shaky(1e-6)
        };
        assert!(!(Chance::assumed(0.5) + of_many).is_extrapolated());
        assert!((Chance::assumed(1e-9) + of_many).is_extrapolated());
        let either = Chance::assumed(0.5).or(Chance::assumed(0.25));
        assert_eq!(either, Chance::assumed(0.75));
        assert_eq!(Chance::assumed(0.0) + Chance::assumed(0.0), Chance::assumed(0.0));
    }
}
