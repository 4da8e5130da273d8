//! Whether a key applies to an arm: both its lock and the workload must accept it.

use super::arm_key::ArmKey;
use super::belonging::belongs;
use super::lock::{LockKind, Topology};
use super::workload::WorkloadName;

/// Checks whether an arm with this lock in this topology, in this workload, may have `key`.
pub(super) fn applicable(
    key: ArmKey,
    lock: LockKind,
    topology: Topology,
    workload: WorkloadName,
) -> Result<(), String> {
    belongs("workload.kind", workload, |workload| workload.takes(key))?;
    belongs("lock", lock, |lock| lock.takes(key))?;
    belongs("topology", topology, |topology| {
        topology.takes(key) && lock.works_in(topology)
    })
}
