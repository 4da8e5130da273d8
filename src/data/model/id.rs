use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes a number by which users know something; `Display` writes it behind its noun.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $noun:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub usize);

        impl $name {
            /// Its position in a vector of all of them.
            pub const fn index(self) -> usize {
                self.0.saturating_sub(1)
            }

            /// The one at `index` of a vector of all of them.
            pub const fn from_index(index: usize) -> Self {
                Self(index + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {}", $noun, self.0)
            }
        }
    };
}

id! {
    /// A host of the lab, counted from 1 as users count them.
    HostId, "host"
}
id! {
    /// An app server of the swarm, counted from 1.
    ServerId, "app server"
}

/// An order that somebody gives a run. Whoever gives it chooses the number; its events carry it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct OrderId(pub u64);
