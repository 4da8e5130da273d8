//! The keys of `[[arm]]` that only some arms have, depending on their lock and the workload. The reader refuses keys that
//! don't apply, and the writer leaves them out.

use strum::{IntoStaticStr, VariantArray};

/// A key of `[[arm]]` that depends on the lock or the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ArmKey {
    Topology,
    Follow,
    WaitReplicas,
    WaitTimeout,
    Host,
    Hosts,
    Ttl,
    Renew,
    NodeTimeout,
    OnLoss,
    Wait,
    Timeout,
    Update,
    Fence,
    ServeStale,
    SecondLook,
}

impl ArmKey {
    /// The key as it is written.
    pub(super) fn name(self) -> &'static str {
        self.into()
    }
}
