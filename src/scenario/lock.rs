//! The kinds of lock, a row each: what they need of the lab, which keys of `[[arm]]` they take, and what they are called.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::arm_key::ArmKey;

/// The lock of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// None.
    None,
    /// A keyed mutex inside each app server.
    Local,
    /// `SET key token NX PX ttl` on one node.
    Single,
    /// The same on every host, held with a majority.
    Redlock,
}

/// The lock nodes that keep the keys of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockNodes {
    /// None: the lock is in the app server, or there is none.
    Nowhere,
    /// The one on the host that the arm names.
    OneHost,
    /// Those of all hosts; a majority of them decides.
    EveryHost,
}

/// What is particular to a kind of lock.
struct Row {
    /// A few words for tables.
    label: &'static str,
    nodes: LockNodes,
    /// The groups of keys of `[[arm]]` that it takes, of those that not every lock takes.
    keys: &'static [&'static [ArmKey]],
}

/// What every lock takes that can be held by somebody else.
const WAITING: &[ArmKey] = &[ArmKey::Wait, ArmKey::Timeout, ArmKey::ServeStale, ArmKey::SecondLook];
/// What a lock takes whose keys are on lock nodes, where they expire.
const LEASE: &[ArmKey] = &[ArmKey::Ttl, ArmKey::Renew, ArmKey::NodeTimeout, ArmKey::OnLoss];
/// What a lock takes whose node is chosen.
const HOST: &[ArmKey] = &[ArmKey::Host];

impl LockKind {
    const fn row(self) -> Row {
        match self {
            Self::None => Row {
                label: "no lock",
                nodes: LockNodes::Nowhere,
                keys: &[],
            },
            Self::Local => Row {
                label: "in-process mutex",
                nodes: LockNodes::Nowhere,
                keys: &[WAITING],
            },
            Self::Single => Row {
                label: "single",
                nodes: LockNodes::OneHost,
                keys: &[WAITING, LEASE, HOST],
            },
            Self::Redlock => Row {
                label: "redlock",
                nodes: LockNodes::EveryHost,
                keys: &[WAITING, LEASE],
            },
        }
    }

    /// A few words for tables.
    pub(super) const fn label(self) -> &'static str {
        self.row().label
    }

    /// The lock nodes that keep its keys.
    #[must_use]
    pub const fn nodes(self) -> LockNodes {
        self.row().nodes
    }

    /// Whether there is a lock at all.
    #[must_use]
    pub const fn is_some(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Whether lock nodes are asked.
    #[must_use]
    pub const fn uses_nodes(self) -> bool {
        !matches!(self.nodes(), LockNodes::Nowhere)
    }

    /// Whether a majority of the hosts decides.
    #[must_use]
    pub const fn needs_majority(self) -> bool {
        matches!(self.nodes(), LockNodes::EveryHost)
    }

    /// Whether an arm with this lock may have `key`, as far as the lock is concerned.
    pub(super) fn takes(self, key: ArmKey) -> bool {
        self.row().keys.iter().any(|group| group.contains(&key))
    }
}
