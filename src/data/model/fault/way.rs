use std::fmt;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Who makes a replica the new master.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, VariantArray)]
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
