use std::fmt;
use std::time::Duration;

use serde::Serialize;

use lockstorm_data::model::{in_us, setting};

/// How often a held lock is extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Renewal {
    /// A held lock is never extended.
    Off,
    /// Every `ttl / n`.
    Fraction(u32),
    /// At this interval.
    #[serde(rename = "every_us", with = "in_us")]
    Every(Duration),
}

impl fmt::Display for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Fraction(n) => write!(f, "ttl/{n}"),
            Self::Every(interval) => f.write_str(&setting(*interval)),
        }
    }
}

/// A TTL with a renewal interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The TTL, in whole milliseconds.
    #[serde(rename = "ttl_us", with = "in_us")]
    pub ttl: Duration,
    /// Its renewal.
    pub renewal: Renewal,
}

impl Setting {
    /// The renewal interval in seconds; `None` without renewal.
    pub fn interval(&self) -> Option<f64> {
        match self.renewal {
            Renewal::Off => None,
            Renewal::Fraction(n) => Some(self.ttl.as_secs_f64() / f64::from(n)),
            Renewal::Every(interval) => Some(interval.as_secs_f64()),
        }
    }
}

/// Each TTL with each renewal, if it is shorter than the TTL.
pub fn settings(ttls: &[Duration], renewals: &[Renewal]) -> Vec<Setting> {
    let all = renewals
        .iter()
        .flat_map(|&renewal| ttls.iter().map(move |&ttl| Setting { ttl, renewal }));
    all.filter(|setting| {
        setting
            .interval()
            .is_none_or(|interval| interval < setting.ttl.as_secs_f64())
    })
    .collect()
}
