//! How a fault acts, and how its target came into a condition.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::skew::Skew;
use crate::model::setting::setting;

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

/// How a target came into a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// By SIGKILL; for an app server, by the drop of its runtime.
    Killed,
    /// It ended in good order.
    ShutDown,
    /// By a loss of power.
    PoweredOff,
    /// In another way, for example by an exit code or a signal.
    Died(String),
    /// A server that is not ours can't be asked any more, for this reason.
    Gone(String),
    /// Everything takes this much longer on these ways.
    Delayed(Duration, Direction),
    /// Nothing arrives on these ways.
    Silenced(Direction),
    /// Its clock is wrong like this.
    Clock(Skew),
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed => f.write_str("killed"),
            Self::ShutDown => f.write_str("shut down"),
            Self::PoweredOff => f.write_str("powered off"),
            Self::Died(how) => write!(f, "died: {how}"),
            Self::Gone(why) => write!(f, "gone: {why}"),
            Self::Delayed(delay, Direction::Both) => write!(f, "{} each way", setting(*delay)),
            Self::Delayed(delay, direction) => write!(f, "{} {direction}", setting(*delay)),
            Self::Silenced(direction) => direction.fmt(f),
            Self::Clock(skew) => skew.fmt(f),
        }
    }
}
