//! Which server a program is, and its version.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::Display;

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

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}
