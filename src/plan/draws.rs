//! Spreads as the virtual world draws from them.

use std::time::Duration;

use super::spread::Spread;
use lockstorm_lock::simulation::{Draw, Quantiles, Span};

/// How the virtual world draws from this spread.
pub(super) fn draw(spread: &Spread) -> Draw {
    match spread {
        Spread::Constant(always) => Span::of(duration(*always)).into(),
        _ => Draw::Quantiles(Quantiles::of(|p| duration(spread.quantile_beyond(p)))),
    }
}

/// The gaps of a Poisson process with so many events a second, more than 0.
pub(super) fn poisson(per_second: f64) -> Draw {
    Draw::Quantiles(Quantiles::of(|p| duration(-p.ln() / per_second)))
}

/// Seconds; what is longer than a century is as long as one.
pub(super) fn duration(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, 3.2e9))
}
