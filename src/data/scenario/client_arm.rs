//! The arm that `--client` adds to a scenario.

use super::lock::{LockKind, Topology};
use super::spec::ArmSpec;
use super::whole::Scenario;
use super::writer::Writer;

/// Its name.
pub(super) const NAME: &str = "client";

/// The arm as TOML: with the times of the scenario's redlock, or of its last lock on nodes: scenarios show mistakes first, and those are not the client's.
pub(super) fn arm(scenario: &Scenario, command: &[String]) -> String {
    let on_nodes = |arm: &&ArmSpec| arm.lock.uses_nodes();
    let model = scenario.arms.iter().find(|arm| arm.lock == LockKind::Redlock);
    let model = model
        .or_else(|| scenario.arms.iter().rfind(on_nodes))
        .or(scenario.arms.first());
    let mut out = Writer::new();
    if let Some(model) = model {
        let arm = ArmSpec {
            name: NAME.to_owned(),
            lock: LockKind::Client,
            command: command.to_vec(),
            topology: Topology::Independent,
            ..model.clone()
        };
        out.arm(&arm, scenario.workload.name());
    }
    out.into_text()
}
