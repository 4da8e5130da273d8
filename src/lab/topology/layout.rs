//! The list of a lab's nodes. Their ports, the numbers that the keeper uses, their directories and their start all follow
//! it.

use crate::server::node_name::{NodeName, Role};
use lockstorm_data::model::HostId;
use lockstorm_data::scenario::LabSpec;

/// The nodes of a lab, in the order of their ports: first the lock nodes, then the cache node, which is on no host, then whatever
/// else there is, so that the ports of the first two don't depend on the rest.
pub(crate) fn layout(spec: &LabSpec) -> Vec<NodeName> {
    let on = |hosts: usize, role: Role| (0..hosts).map(move |host| NodeName::on(HostId::from_index(host), role));
    let mut names: Vec<NodeName> = on(spec.hosts, Role::Lock).chain([NodeName::CACHE]).collect();
    if spec.replicated.is_some() {
        names.extend(
            [Role::Replicated, Role::Sentinel]
                .into_iter()
                .flat_map(|role| on(spec.hosts, role)),
        );
    }
    if spec.cluster.is_some() {
        names.extend(
            Role::IN_CLUSTER
                .into_iter()
                .flat_map(|role| on(spec.cluster_hosts(), role)),
        );
    }
    if spec.etcd {
        names.extend(on(spec.hosts, Role::Etcd));
    }
    names
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::TcpListener;

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use tokio::time::sleep;

    use super::*;
    use crate::awaited::Awaited;
    use crate::lab::Lab;
    use crate::options::LabOptions;
    use crate::server::binary::ServerBinary;
    use lockstorm_data::model::{Action, Condition, Fault};
    use lockstorm_data::scenario::{ClusterSpec, ReplicatedSpec};
    use lockstorm_kit::turn::Turn;
    use lockstorm_kit::{beside, keeper};

    /// Two nodes on each host.
    const BOTH: [Role; 2] = [Role::Lock, Role::Cache];
    /// The host that fails.
    const HOST: HostId = HostId(1);

    #[test]
    fn no_two_nodes_have_the_same_name_or_directory() {
        let mut spec = LabSpec::of(9);
        assert_eq!(layout(&spec).len(), 10);
        spec.replicated = Some(ReplicatedSpec::default());
        spec.cluster = Some(ClusterSpec::default());
        let nodes = layout(&spec);
        assert_eq!(nodes.len(), 9 * 3 + 1 + 6, "the cluster uses three hosts");
        assert_eq!(nodes.len(), spec.processes());
        for (index, node) in nodes.iter().enumerate() {
            for other in &nodes[..index] {
                assert_ne!(node, other);
                assert_ne!(node.directory(), other.directory());
            }
        }
    }

    /// A lab whose hosts have two nodes each, and the turn to have one.
    async fn lab() -> (Lab, Turn) {
        let turn = beside();
        let mut options = LabOptions::new(ServerBinary::find(None).unwrap()).unwrap();
        options.keeper = keeper();
        let spec = LabSpec::of(2);
        let mut names = layout(&spec);
        names.extend([1, 2].map(|host| NodeName::on(HostId(host), Role::Cache)));
        let lab = Lab::with(names, &spec, options, &Awaited::new(&|_| {})).await;
        (lab.unwrap(), turn)
    }

    /// Carries out the action on the host, and returns what its proof names.
    async fn apply(lab: &Lab, action: Action) -> BTreeSet<String> {
        let proof = lab.apply(action, HOST).await.unwrap().proof;
        proof.into_iter().map(|found| found.of).collect()
    }

    fn on_host(host: HostId) -> [NodeName; 2] {
        BOTH.map(|role| NodeName::on(host, role))
    }

    #[tokio::test]
    async fn the_nodes_of_a_host_fail_and_come_back_together() {
        let (lab, _turn) = lab().await;
        let both = BTreeSet::from(["host 1".to_owned(), "the cache node of host 1".to_owned()]);
        let others: Vec<NodeName> = lab.names().filter(|name| name.host != Some(HOST)).collect();
        assert_eq!(others.len(), 3);
        for (fault, condition) in [
            (Fault::Kill, Condition::Down),
            (Fault::Shutdown, Condition::Down),
            (Fault::Pause, Condition::Paused),
        ] {
            assert_eq!(apply(&lab, fault.into()).await, both);
            for node in on_host(HOST) {
                assert!(lab.node_state(node).conditions.has(condition), "{fault:?} of {node}");
            }
            assert!(others.iter().all(|&node| lab.node_state(node).is_up()), "{fault:?}");
            assert_eq!(apply(&lab, Action::Undo(condition)).await, both);
            assert!(lab.names().all(|node| lab.node_state(node).is_up()), "after {fault:?}");
        }
        lab.down().await;
    }

    #[tokio::test]
    async fn a_host_is_down_if_one_of_its_nodes_is_and_a_restart_starts_only_that() {
        let (lab, _turn) = lab().await;
        let [lock, cache] = on_host(HOST).map(|node| lab.pid(node).unwrap());
        kill(Pid::from_raw(cache.cast_signed()), Signal::SIGKILL).unwrap();
        while !lab.state(HOST).conditions.has(Condition::Down) {
            sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(apply(&lab, Action::Undo(Condition::Down)).await.len(), 2);
        let [lock_after, cache_after] = on_host(HOST).map(|node| lab.pid(node).unwrap());
        assert!(lock == lock_after && cache != cache_after);
        lab.down().await;
    }

    #[tokio::test]
    async fn each_node_of_a_host_whose_port_is_taken_moves() {
        let (lab, _turn) = lab().await;
        let ports = || on_host(HOST).map(|node| lab.address(node).unwrap().port());
        let before = ports();
        apply(&lab, Fault::Kill.into()).await;
        let taken = before.map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
        assert_eq!(apply(&lab, Action::Undo(Condition::Down)).await.len(), 2);
        let after = ports();
        assert!(before.iter().all(|port| !after.contains(port)), "{before:?} {after:?}");
        drop(taken);
        lab.down().await;
    }
}
