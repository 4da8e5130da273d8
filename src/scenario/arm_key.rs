//! The keys of `[[arm]]` that not every arm takes: whether one applies is for its lock and the workload to say. The reader
//! refuses what does not apply, and the writer leaves it out.

use strum::{IntoStaticStr, VariantArray};

/// A key of `[[arm]]` that depends on the lock or the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(super) enum ArmKey {
    Host,
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
