//! Whether a key applies to an arm: both its lock and the workload must accept it.

use super::belonging::belongs;
use super::lock::{LockKind, Topology};
use super::workload::WorkloadName;

/// Checks whether an arm with this lock in this topology, in this workload, may have `key`.
pub(super) fn applicable(key: &str, lock: LockKind, topology: Topology, workload: WorkloadName) -> Result<(), String> {
    belongs("workload.kind", workload, |workload| {
        workload.row().arm_keys.contains(&key)
    })?;
    belongs("lock", lock, |lock| lock.row().keys.concat().contains(&key))?;
    belongs("topology", topology, |topology| {
        topology.keys().contains(&key) && lock.row().topologies.contains(&topology)
    })
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::super::keys::key;
    use super::super::lock::{LockKind, Topology};
    use super::super::workload::WorkloadName;

    #[test]
    fn whoever_takes_a_key_names_one_of_the_table() {
        let locks = LockKind::VARIANTS.iter().flat_map(|lock| lock.row().keys.concat());
        let workloads = WorkloadName::VARIANTS
            .iter()
            .flat_map(|workload| workload.row().arm_keys);
        let topologies = Topology::VARIANTS.iter().flat_map(|topology| topology.keys());
        for name in locks.chain(workloads.copied()).chain(topologies.copied()) {
            assert!(key("[[arm]]", name).is_some(), "{name}");
        }
    }
}
