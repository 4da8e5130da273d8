//! Watches which nodes are masters of the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::watch::lacks::ArmLocks;
use crate::watch::new_master::NewMaster;
use lockstorm_data::model::{ClusterNode, ClusterRole};
use lockstorm_lab::{Lab, NodeName};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks as long as somebody receives the nodes that take over slots.
pub(crate) async fn watch(lab: Arc<Lab>, arms: Vec<ArmLocks>, new_masters: mpsc::Sender<NewMaster>) {
    // The port of each one's master, and when it was last seen as a replica.
    let mut replicas: BTreeMap<NodeName, (u16, Instant)> = BTreeMap::new();
    while !new_masters.is_closed() {
        let now = Instant::now();
        for (name, node) in lab.cluster_roles().await {
            match node {
                Some(ClusterNode {
                    role: ClusterRole::Replica { master, .. },
                    ..
                }) => {
                    replicas.insert(name, (master, now));
                }
                // One that has just taken over may refuse all keys until the cluster is in order.
                Some(node) if node.usable_slots() > 0 => {
                    let Some((old, replica)) = replicas.remove(&name) else {
                        continue;
                    };
                    let is_old = |other: &NodeName| lab.address(*other).is_some_and(|address| address.port() == old);
                    let others = lab.names().filter(is_old).collect();
                    let new = NewMaster::of(&lab, name, others, replica, &arms).await;
                    if new_masters.send(new).await.is_err() {
                        return;
                    }
                }
                _ => {}
            }
        }
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis_client::redis_client;
    use crate::under_test::Guard;
    use crate::watch::new_master::testing::{acquire, patient};
    use crate::workload::HeldLocks;
    use lockstorm_data::model::{Action, Fault, HostId};
    use lockstorm_data::scenario::{ClusterSpec, LabSpec};
    use lockstorm_kit::{beside, lab};
    use lockstorm_lab::Role;
    use lockstorm_lock::{Cluster, NodeAddress, NodeOptions};

    const FIRST: NodeName = NodeName::on(HostId(1), Role::FirstInCluster);
    const ITS_REPLICA: NodeName = NodeName::on(HostId(2), Role::SecondInCluster);

    async fn order<T: redis::FromRedisValue>(node: &NodeAddress, words: &[&str]) -> redis::RedisResult<T> {
        let mut connection = redis_client(node)?
            .get_multiplexed_async_connection_with_config(&patient())
            .await?;
        redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await
    }

    #[tokio::test]
    async fn the_locks_that_only_a_dead_master_of_the_cluster_had_are_counted_exactly() {
        let (options, _turn) = (lab::options(), beside());
        let spec = LabSpec {
            cluster: Some(ClusterSpec {
                node_timeout: Duration::from_secs(3),
                ..ClusterSpec::default()
            }),
            ..LabSpec::of(3)
        };
        let lab = Arc::new(Lab::up(&spec, options).await.unwrap());
        let [masters, replicas] = lab.cluster_nodes().unwrap();
        let cluster = Cluster::at(&masters, NodeOptions::default()).node();
        let held = Arc::new(HeldLocks::default());
        let (sender, mut new_masters) = mpsc::channel(1);
        let arms = vec![(0, vec![Arc::clone(&held)])];
        let watching = tokio::spawn(watch(Arc::clone(&lab), arms, sender));

        // Every lock has reached the replica of its master.
        let before = acquire(&cluster, 0..60).await;
        for master in &masters {
            let () = order(master, &["WAIT", "1", "10000"]).await.unwrap();
        }
        // From now on no replica gets anything: none knows the password, and their connections end.
        for replica in &replicas {
            let () = order(replica, &["CONFIG", "SET", "masterauth", "wrong"]).await.unwrap();
        }
        for master in &masters {
            let () = order(master, &["CLIENT", "KILL", "TYPE", "replica"]).await.unwrap();
        }
        let after = acquire(&cluster, 60..100).await;
        let _entries: Vec<_> = before
            .iter()
            .chain(&after)
            .map(|guard| held.enter(0, true, std::time::Instant::now(), "", guard.held_lock()))
            .collect();
        let dead = lab.servers(FIRST)[0];
        let on_it = |guards: &[Guard]| guards.iter().filter(|guard| guard.voters() == [dead]).count();
        let (kept, lost) = (on_it(&before), on_it(&after));
        assert!(kept > 5 && lost > 5, "{kept} and {lost}");

        lab.apply(Action::Fault(Fault::Kill), HostId(1)).await.unwrap();
        let new = new_masters.recv().await.unwrap();
        assert_eq!((new.node, new.others), (ITS_REPLICA, vec![FIRST]));
        let lacks = new.lacks[0].1.as_ref().map(|lacks| (lacks.held, lacks.lost.len()));
        assert_eq!(
            lacks,
            Some((kept + lost, lost)),
            "locks of other masters are not looked for"
        );
        drop((before, after));
        watching.abort();
        lab.down().await;
    }
}
