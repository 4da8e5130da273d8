//! Whether a key applies to an arm: its lock and the workload must both take it.

use super::arm_key::ArmKey;
use super::belonging::belongs;
use super::lock::LockKind;
use super::workload::WorkloadName;

/// Whether an arm with this lock, in this workload, may have `key`; if not, why not.
pub(super) fn applicable(key: ArmKey, lock: LockKind, workload: WorkloadName) -> Result<(), String> {
    belongs("workload.kind", workload, |workload| workload.takes(key))?;
    belongs("lock", lock, |lock| lock.takes(key))
}
