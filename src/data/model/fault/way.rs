//! How a fault acts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Who makes a replica the new master.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// A Sentinel that is told to, and that chooses the replica.
    #[default]
    Sentinel,
    /// Somebody who tells each node whom to follow, and then the Sentinels.
    Hand,
}

impl Way {
    /// A failover in words, to somebody.
    pub(super) fn to(self, whom: impl fmt::Display) -> String {
        match self {
            // The Sentinel chooses.
            Self::Sentinel => "fail over by Sentinel".to_owned(),
            Self::Hand => format!("fail over to {whom} by hand"),
        }
    }
}

/// The ways on which a fault of the network acts. Where "there" leads depends on the target: to a host, from the first host
/// of a link to the second, from a master to its replicas, from a Sentinel to whom it asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// There and back.
    #[default]
    Both,
    /// Only there.
    There,
    /// Only back.
    Back,
}

impl Direction {
    /// Whether it includes another one.
    pub fn includes(self, other: Self) -> bool {
        self == Self::Both || self == other
    }

    /// How often something that goes there and back passes it.
    pub const fn times(self) -> u32 {
        match self {
            Self::Both => 2,
            Self::There | Self::Back => 1,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Both => "both ways",
            Self::There => "on the way there",
            Self::Back => "on the way back",
        })
    }
}
