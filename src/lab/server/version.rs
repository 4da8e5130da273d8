//! Which server a program is, and its version.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::Display;

/// The oldest version that has what locks and the lab need.
pub(crate) const OLDEST: Version = Version(6, 2, 0);

/// The project that a server program comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// Redis.
    #[strum(to_string = "redis-server")]
    Redis,
    /// Valkey.
    #[strum(to_string = "valkey-server")]
    Valkey,
}

/// A server's version: major, minor, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Reads a version like `7.0.15`, `6.2` or `8.1.0-rc1`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..digits].parse().ok()
        });
        let (major, minor) = (numbers.next()??, numbers.next()??);
        Some(Self(major, minor, numbers.next().flatten().unwrap_or(0)))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}
