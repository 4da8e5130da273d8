//! The replicated topology: a master, its replicas, and the Sentinels that watch them.

use std::time::Duration;

use crate::awaited::{Awaited, Of};
use crate::error::LabError;
use crate::server::node::Node;
use crate::server::node_name::Role;
use crate::server::nodes::Nodes;
use crate::topology::readiness::{self, PROOF, failed};
use lockstorm_data::model::{HostId, ReplicationRole};
use lockstorm_data::scenario::ReplicatedSpec;
use lockstorm_lock::{NodeAddress, Reply, SessionError};

/// The name by which Sentinels know the master.
pub const MASTER_NAME: &str = "lockstorm";

/// Reads the answer to ROLE: `master`, its offset and its replicas, or `slave`, the address of its master, the state of the
/// link and its offset. `host` tells whose node is reached on a port.
pub(crate) fn read_role(answer: &Reply, host: impl Fn(u16) -> Option<HostId>) -> Option<ReplicationRole> {
    let part = |at: usize| answer.parts().get(at);
    match part(0)?.text()? {
        "master" => Some(ReplicationRole::Master {
            replicas: part(2)?.parts().len(),
            offset: part(1)?.number()?,
        }),
        "slave" => Some(ReplicationRole::Replica {
            master: host(part(2)?.number()?),
            connected: part(3)?.text()? == "connected",
            // It is -1 before the first synchronization.
            offset: part(4).and_then(Reply::number).unwrap_or(0),
        }),
        _ => None,
    }
}

/// Makes the first replicated node the master of the others and lets the Sentinels watch it. Returns when the replicas have
/// acknowledged a write, and then every Sentinel knows all the others and all replicas. `entrance` is where a node is reached by
/// the others.
pub(crate) async fn establish(
    nodes: &Nodes,
    spec: &ReplicatedSpec,
    entrance: impl Fn(&Node) -> NodeAddress,
    awaited: &Awaited<'_>,
) -> Result<(), LabError> {
    let data: Vec<&Node> = nodes.of(Role::Replicated).collect();
    let Some((master, replicas)) = data.split_first() else {
        return Ok(());
    };
    let wait = |what| awaited.until(Of::Replicated, what);
    wait(Some("the replicas have acknowledged a write"));
    for replica in replicas {
        follow(replica, &entrance(master)).await.map_err(failed(replica))?;
    }
    readiness::acknowledged(master, replicas.len(), PROOF).await?;
    wait(Some("the Sentinels know each other"));
    let sentinels: Vec<&Node> = nodes.of(Role::Sentinel).collect();
    let quorum = sentinels.len() / 2 + 1;
    for sentinel in &sentinels {
        let watching = watch(sentinel, &entrance(master), quorum, spec).await;
        watching.map_err(failed(sentinel))?;
        hurry(sentinel, spec).await?;
    }
    for sentinel in &sentinels {
        knows(sentinel, replicas.len(), sentinels.len() - 1).await?;
    }
    wait(None);
    Ok(())
}

/// Makes a node a master, also for its next start.
pub(crate) async fn lead(node: &Node) -> Result<(), SessionError> {
    replica_of(node, ["NO", "ONE"]).await
}

/// Makes a node the replica of the one that is reached there, also for its next start.
pub(crate) async fn follow(replica: &Node, master: &NodeAddress) -> Result<(), SessionError> {
    replica_of(replica, [master.host(), &master.port().to_string()]).await
}

async fn replica_of(node: &Node, [host, port]: [&str; 2]) -> Result<(), SessionError> {
    let mut session = readiness::connect(node).await?;
    session.order(&["REPLICAOF", host, port]).await?;
    session.order(&["CONFIG", "REWRITE"]).await.map(drop)
}

/// Lets a Sentinel watch the master.
async fn watch(
    sentinel: &Node,
    master: &NodeAddress,
    quorum: usize,
    spec: &ReplicatedSpec,
) -> Result<(), SessionError> {
    let mut session = readiness::connect(sentinel).await?;
    let (port, quorum) = (master.port().to_string(), quorum.to_string());
    let monitor = ["SENTINEL", "MONITOR", MASTER_NAME, master.host(), &port, &quorum];
    session.order(&monitor).await?;
    let [down, failover] = [spec.down_after, spec.failover_timeout].map(millis);
    let mut set = vec!["SENTINEL", "SET", MASTER_NAME];
    set.extend(["down-after-milliseconds", &down, "failover-timeout", &failover]);
    if let Some((_, password)) = master.credentials() {
        set.extend(["auth-pass", password]);
    }
    session.order(&set).await.map(drop)
}

fn millis(time: Duration) -> String {
    time.as_millis().to_string()
}

/// Lets a Sentinel ask and publish more often, if the scenario says so. It does not keep that in its file, so it is told again
/// after each start.
pub(crate) async fn hurry(sentinel: &Node, spec: &ReplicatedSpec) -> Result<(), LabError> {
    let Some(period) = spec.sentinel_period else {
        return Ok(());
    };
    let period = millis(period);
    let order = ["SENTINEL", "DEBUG", "info-period", &period, "publish-period", &period];
    let told = readiness::order(sentinel, &order).await;
    told.map(drop).map_err(failed(sentinel))
}

/// Waits until a Sentinel knows so many replicas and other Sentinels.
async fn knows(sentinel: &Node, replicas: usize, others: usize) -> Result<(), LabError> {
    readiness::until(sentinel, async |session| {
        let master = session.order(&["SENTINEL", "MASTER", MASTER_NAME]).await?;
        let number = |name| Reply::field(master.parts(), name).map_or(0, |number| number.parse().unwrap_or(0));
        let (follow, watch) = (number("num-slaves"), number("num-other-sentinels"));
        Ok(((follow, watch) != (replicas, others))
            .then(|| format!("it knows {follow} of {replicas} replicas and {watch} of {others} other Sentinels")))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::Reply::{Array, Int, Text};
    use super::*;

    #[test]
    fn a_role_is_read() {
        let text = |text: &str| Text(text.to_owned());
        let read = |answer: &[Reply]| read_role(&Array(answer.to_vec()), |port| (port == 17001).then_some(HostId(1)));
        let replica = || Array(vec![text("127.0.0.1"), text("17002"), text("400")]);
        assert_eq!(
            read(&[text("master"), Int(412), Array(vec![replica(), replica()])]),
            Some(ReplicationRole::Master {
                replicas: 2,
                offset: 412
            })
        );
        let slave = |state: &str, offset| [text("slave"), text("127.0.0.1"), Int(17001), text(state), Int(offset)];
        let role = |connected, offset| ReplicationRole::Replica {
            master: Some(HostId(1)),
            connected,
            offset,
        };
        assert_eq!(read(&slave("connected", 400)), Some(role(true, 400)));
        assert_eq!(read(&slave("sync", -1)), Some(role(false, 0)));
        assert_eq!(read(&[text("sentinel"), Array(vec![])]), None);
        assert_eq!(read(&[]), None);
    }
}
