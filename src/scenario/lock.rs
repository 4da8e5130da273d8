//! The kinds of lock, a row each: the lock nodes that they need, the keys of `[[arm]]` that they take, and their labels.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::arm_key::ArmKey;

/// The lock of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// No lock.
    None,
    /// A keyed mutex inside each app server.
    Local,
    /// `SET key token NX PX ttl` on one node.
    Single,
    /// The same on every host; a majority of them must grant it.
    Redlock,
}

/// The lock nodes that a lock uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockNodes {
    /// None: the lock is in the app server, or there is no lock.
    Nowhere,
    /// The lock node of the host that the arm names.
    OneHost,
    /// The lock nodes of all hosts; a majority of them decides.
    EveryHost,
}

/// The properties of a kind of lock.
struct Row {
    /// A few words for tables.
    label: &'static str,
    nodes: LockNodes,
    /// The groups of `[[arm]]` keys that it takes, apart from those of every lock.
    keys: &'static [&'static [ArmKey]],
}

/// The keys of all locks that somebody else can hold.
const WAITING: &[ArmKey] = &[ArmKey::Wait, ArmKey::Timeout, ArmKey::ServeStale, ArmKey::SecondLook];
/// The keys of locks on lock nodes, where they expire.
const LEASE: &[ArmKey] = &[ArmKey::Ttl, ArmKey::Renew, ArmKey::NodeTimeout, ArmKey::OnLoss];
/// The keys of locks on a node that the user chooses.
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

    /// The lock nodes that it uses.
    #[must_use]
    pub const fn nodes(self) -> LockNodes {
        self.row().nodes
    }

    /// Whether this is a lock at all.
    #[must_use]
    pub const fn is_some(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Whether it uses lock nodes.
    #[must_use]
    pub const fn uses_nodes(self) -> bool {
        !matches!(self.nodes(), LockNodes::Nowhere)
    }

    /// Whether a majority of the hosts decides.
    #[must_use]
    pub const fn needs_majority(self) -> bool {
        matches!(self.nodes(), LockNodes::EveryHost)
    }

    /// Whether an arm with this lock may have `key`; the workload may still refuse it.
    pub(super) fn takes(self, key: ArmKey) -> bool {
        self.row().keys.iter().any(|group| group.contains(&key))
    }
}
