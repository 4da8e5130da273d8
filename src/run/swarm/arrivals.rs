//! When requests of an open loop are due. Pure: times are seconds since the load began.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use lockstorm_data::scenario::Arrivals as Kind;

/// The requests of an open loop, one after the other, each with the time at which it is due.
///
/// Both kinds follow one curve n(t), the number of requests expected by time t. Evenly spaced requests are due where it
/// passes 0, 1, 2, …; those of a Poisson process where it passes the sums of exponential steps of mean 1.
#[derive(Debug)]
pub(super) struct Arrivals {
    curve: Curve,
    kind: Kind,
    rng: SmallRng,
    /// The point on the curve at which the next request is due.
    next: f64,
}

/// The number of requests expected by each time.
///
/// With a ramp T to rate R, n(t) = R·t²/2T requests are expected t after the start, until T; R a second from then on.
#[derive(Debug, Clone, Copy)]
struct Curve {
    /// The time at which the curve starts.
    since: f64,
    /// How many requests are expected by then.
    from: f64,
    /// Requests a second.
    rate: f64,
    /// The time in which the rate grows linearly from zero.
    ramp: f64,
}

impl Curve {
    fn by(&self, t: f64) -> f64 {
        let (t, ramp) = ((t - self.since).max(0.0), self.ramp);
        self.from
            + if t < ramp {
                self.rate * t * t / (2.0 * ramp)
            } else {
                self.rate * (t - ramp / 2.0)
            }
    }

    /// The time by which `n` requests are expected.
    fn when(&self, n: f64) -> f64 {
        let (n, in_ramp) = ((n - self.from).max(0.0), self.rate * self.ramp / 2.0);
        self.since
            + if n < in_ramp {
                (2.0 * self.ramp * n / self.rate).sqrt()
            } else {
                self.ramp + (n - in_ramp) / self.rate
            }
    }
}

impl Arrivals {
    /// `rate` requests a second, after a ramp of `ramp` seconds.
    pub fn new(kind: Kind, rate: f64, ramp: f64, seed: u64) -> Self {
        let mut arrivals = Self {
            curve: Curve {
                since: 0.0,
                from: 0.0,
                rate,
                ramp,
            },
            kind,
            rng: SmallRng::seed_from_u64(seed),
            next: 0.0,
        };
        if kind == Kind::Poisson {
            arrivals.advance();
        }
        arrivals
    }

    /// When the next request is due.
    pub fn due(&self) -> f64 {
        self.curve.when(self.next)
    }

    /// Moves on to the request after it.
    pub fn advance(&mut self) {
        self.next += match self.kind {
            Kind::Even => 1.0,
            // By inversion; 1 − u is never zero.
            Kind::Poisson => -(1.0 - self.rng.random::<f64>()).ln(),
        };
    }

    /// Sets the rate from `now` on.
    pub fn set_rate(&mut self, rate: f64, now: f64) {
        self.curve = Curve {
            since: now,
            from: self.curve.by(now),
            rate,
            ramp: 0.0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(arrivals: &mut Arrivals, n: usize) -> Vec<f64> {
        let mut next = || {
            let due = arrivals.due();
            arrivals.advance();
            due
        };
        (0..n).map(|_| next()).collect()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn even_arrivals_are_evenly_spaced() {
        let due = first(&mut Arrivals::new(Kind::Even, 10.0, 0.0, 1), 26);
        assert!(close(due[0], 0.0) && close(due[25], 2.5), "{due:?}");
    }

    #[test]
    fn a_ramp_offers_half_and_then_the_full_rate() {
        let due = first(&mut Arrivals::new(Kind::Even, 10.0, 4.0, 1), 31);
        assert!(
            close(due[5], 2.0) && close(due[20], 4.0) && close(due[30], 5.0),
            "{due:?}"
        );
    }

    #[test]
    fn a_new_rate_counts_from_now_on() {
        let mut arrivals = Arrivals::new(Kind::Even, 0.01, 0.0, 1);
        arrivals.advance();
        assert!(close(arrivals.due(), 100.0));
        arrivals.set_rate(2.0, 1.0);
        // A hundredth of a request is due already.
        assert!(close(arrivals.due(), 1.0 + 0.99 / 2.0), "{}", arrivals.due());
    }

    #[test]
    fn poisson_arrivals_keep_the_rate_and_are_bunched() {
        let due = first(&mut Arrivals::new(Kind::Poisson, 100.0, 0.0, 7), 20_001);
        let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / 20_000.0;
        assert!((0.0097..0.0103).contains(&mean), "{mean}");
        // In an exponential distribution the standard deviation equals the mean, and 1 − 1/e of the values lie below it.
        let below = gaps.iter().filter(|gap| **gap < 0.01).count();
        assert!((12_400..12_900).contains(&below), "{below}");
        assert_eq!(
            first(&mut Arrivals::new(Kind::Poisson, 100.0, 0.0, 7), 3),
            due[..3],
            "from the seed"
        );
    }
}
