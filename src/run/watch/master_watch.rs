//! Watches which replicated node is the master.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::watch::lacks::ArmLocks;
use crate::watch::new_master::NewMaster;
use lockstorm_data::model::ReplicationRole;
use lockstorm_lab::{Lab, NodeName, Role};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// What was seen in one look.
#[derive(Debug)]
pub(crate) struct Look {
    /// The roles of the replicated nodes that answered.
    pub roles: BTreeMap<NodeName, ReplicationRole>,
    /// The nodes that have become masters since the last look.
    pub new_masters: Vec<NewMaster>,
}

/// Looks as long as somebody receives what it sees.
pub(crate) async fn watch(lab: Arc<Lab>, arms: Vec<ArmLocks>, looks: mpsc::Sender<Look>) {
    // When each was last seen as one.
    let mut replicas = BTreeMap::new();
    loop {
        let now = Instant::now();
        let roles = lab.replication_roles().await;
        let mut new_masters = Vec::new();
        for (node, role) in &roles {
            match role {
                ReplicationRole::Replica { .. } => {
                    replicas.insert(*node, now);
                }
                // A master that comes back and knows nothing of the new one was no replica in between. One that refuses
                // writes, since it has too few replicas yet, is asked again.
                ReplicationRole::Master { .. } => {
                    let Some(replica) = replicas.get(node).copied() else {
                        continue;
                    };
                    if lab.accepts_writes(*node).await {
                        replicas.remove(node);
                        let others = lab.names().filter(|name| name.role == Role::Replicated && name != node);
                        new_masters.push(NewMaster::of(&lab, *node, others.collect(), replica, &arms).await);
                    }
                }
            }
        }
        if looks.send(Look { roles, new_masters }).await.is_err() {
            return;
        }
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use redis::aio::MultiplexedConnection;

    use super::*;
    use crate::redis_client::redis_client;
    use crate::watch::new_master::testing::{acquire, patient};
    use crate::workload::HeldLocks;
    use lockstorm_data::model::{Action, Condition, Fault, HostId, Way};
    use lockstorm_data::scenario::{LabSpec, ReplicatedSpec};
    use lockstorm_kit::{beside, lab};
    use lockstorm_lab::MASTER_NAME;
    use lockstorm_lock::{NodeOptions, Sentinels};

    async fn connect(lab: &Lab, host: HostId) -> MultiplexedConnection {
        let address = lab.address(NodeName::on(host, Role::Replicated)).unwrap();
        let client = redis_client(&address).unwrap();
        client
            .get_multiplexed_async_connection_with_config(&patient())
            .await
            .unwrap()
    }

    async fn order(lab: &Lab, host: HostId, words: &[&str]) {
        let mut order = redis::cmd(words[0]);
        order.arg(&words[1..]);
        order.exec_async(&mut connect(lab, host).await).await.unwrap();
    }

    /// The next new master.
    async fn promoted(looks: &mut mpsc::Receiver<Look>) -> NewMaster {
        loop {
            let look = looks.recv().await.unwrap();
            if let Some(new) = look.new_masters.into_iter().next() {
                return new;
            }
        }
    }

    /// Waits until this host and only it has the master, and all others are connected to it.
    async fn settled(host: HostId, looks: &mut mpsc::Receiver<Look>) {
        loop {
            let roles = looks.recv().await.unwrap().roles;
            let fits = roles.iter().all(|(node, role)| match role {
                ReplicationRole::Master { .. } => node.host == Some(host),
                ReplicationRole::Replica { master, connected, .. } => *connected && *master == Some(host),
            });
            if fits && roles.len() == 3 {
                return;
            }
        }
    }

    /// How many locks it should have, and how many of these it lacks.
    fn lacks(new: &NewMaster) -> Option<(usize, usize)> {
        let [(0, lacks)] = &new.lacks[..] else { return None };
        lacks.as_ref().map(|lacks| (lacks.held, lacks.lost.len()))
    }

    #[tokio::test]
    async fn the_locks_that_only_the_dead_master_had_are_counted_exactly() {
        let (options, _turn) = (lab::options(), beside());
        let spec = LabSpec {
            replicated: Some(ReplicatedSpec {
                // Only the test moves the master, however slow the machine is.
                down_after: Duration::from_mins(10),
                sentinel_period: Some(Duration::from_millis(100)),
                ..ReplicatedSpec::default()
            }),
            ..LabSpec::of(3)
        };
        let lab = Arc::new(Lab::up(&spec, options).await.unwrap());
        let (sentinels, login) = lab.replicated_nodes().unwrap();
        let master = Sentinels::at(&sentinels, MASTER_NAME, &login, NodeOptions::default()).master();
        let held = Arc::new(HeldLocks::default());
        let (sender, mut looks) = mpsc::channel(1);
        let arms = vec![(0, vec![Arc::clone(&held)])];
        let watching = tokio::spawn(watch(Arc::clone(&lab), arms, sender));

        // Every lock has reached the replicas.
        let guards = acquire(&master, 0..7).await;
        let entries: Vec<_> = guards
            .iter()
            .map(|guard| held.enter(0, true, std::time::Instant::now(), "", guard.held_lock()))
            .collect();
        order(&lab, HostId(1), &["WAIT", "2", "10000"]).await;
        settled(HostId(1), &mut looks).await;
        let by_hand = Action::Fault(Fault::Failover { by: Way::Hand });
        lab.apply(Action::Fault(Fault::Kill), HostId(1)).await.unwrap();
        lab.apply(by_hand, HostId(2)).await.unwrap();
        let second = promoted(&mut looks).await;
        assert_eq!(second.node.host, Some(HostId(2)));
        assert_eq!(lacks(&second), Some((7, 0)), "the new master has them all");
        lab.apply(Action::Undo(Condition::Down), HostId(1)).await.unwrap();
        settled(HostId(2), &mut looks).await;

        // From now on no replica gets anything: none knows the password, and their connections end.
        for host in [HostId(1), HostId(3)] {
            order(&lab, host, &["CONFIG", "SET", "masterauth", "wrong"]).await;
        }
        order(&lab, HostId(2), &["CLIENT", "KILL", "TYPE", "replica"]).await;
        let mut more = acquire(&master, 7..12).await;
        let _more_entries: Vec<_> = more
            .iter()
            .map(|guard| held.enter(0, true, std::time::Instant::now(), "", guard.held_lock()))
            .collect();
        // A lock that is released is not lost.
        more.remove(0).release().await;
        lab.apply(Action::Fault(Fault::Kill), HostId(2)).await.unwrap();
        lab.apply(by_hand, HostId(3)).await.unwrap();
        let third = promoted(&mut looks).await;
        assert_eq!(
            lacks(&third),
            Some((11, 4)),
            "four of them were on the dead master only"
        );
        drop((entries, guards, more));
        watching.abort();
        lab.down().await;
    }
}
