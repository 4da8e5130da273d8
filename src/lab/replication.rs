//! The replicated topology: a master, its replicas, and the Sentinels that watch them.

use std::sync::Arc;
use std::time::Duration;

use redis::RedisResult;
use tokio::time::{Instant, sleep};

use super::awaited::{Awaited, Of};
use super::node::Node;
use super::node_name::Role;
use super::nodes::Nodes;
use super::{LabError, readiness};
use lockstorm_data::model::{HostId, ReplicationRole};
use lockstorm_data::scenario::ReplicatedSpec;
use lockstorm_lock::NodeAddress;

/// The name by which Sentinels know the master.
pub const MASTER_NAME: &str = "lockstorm";
/// The key that is written to prove that the replicas follow.
const PROOF: &str = "lockstorm:ready";

/// Asks a replicated node for its role; `None` if it does not answer in time.
pub(super) async fn ask_role(node: &Node) -> Option<Vec<redis::Value>> {
    node.admin.lock().await.role(&node.access()).await
}

/// Reads the answer to ROLE: `master`, its offset and its replicas, or `slave`, the address of its master, the state of the
/// link and its offset. `host` tells whose node is reached on a port.
pub(super) fn read_role(answer: &[redis::Value], host: impl Fn(u16) -> Option<HostId>) -> Option<ReplicationRole> {
    let text = |at: usize| redis::from_redis_value_ref::<String>(answer.get(at)?).ok();
    let number = |at: usize| u64::try_from(redis::from_redis_value_ref::<i64>(answer.get(at)?).ok()?).ok();
    match text(0)?.as_str() {
        "master" => Some(ReplicationRole::Master {
            replicas: answer.get(2)?.as_sequence()?.len(),
            offset: number(1)?,
        }),
        "slave" => Some(ReplicationRole::Replica {
            master: host(number(2)?.try_into().ok()?),
            connected: text(3)? == "connected",
            // It is -1 before the first synchronization.
            offset: number(4).unwrap_or(0),
        }),
        _ => None,
    }
}

/// Makes the first replicated node the master of the others and lets the Sentinels watch it. Returns when the replicas have
/// acknowledged a write, and then every Sentinel knows all the others and all replicas. `entrance` is where a node is reached by
/// the others.
pub(super) async fn establish(
    nodes: &Nodes,
    spec: &ReplicatedSpec,
    entrance: impl Fn(&Node) -> NodeAddress,
    awaited: &Awaited<'_>,
) -> Result<(), LabError> {
    let data: Vec<&Arc<Node>> = nodes.of(Role::Replicated).collect();
    let Some((master, replicas)) = data.split_first() else {
        return Ok(());
    };
    let wait = |what| awaited.until(Of::Replicated, what);
    wait(Some("the replicas have acknowledged a write"));
    for replica in replicas {
        follow(replica, &entrance(master))
            .await
            .map_err(|error| readiness::failed(replica.name, &error))?;
    }
    readiness::acknowledged(master, replicas.len(), PROOF).await?;
    wait(Some("the Sentinels know each other"));
    let sentinels: Vec<&Arc<Node>> = nodes.of(Role::Sentinel).collect();
    let quorum = sentinels.len() / 2 + 1;
    for sentinel in &sentinels {
        let watching = watch(sentinel, &entrance(master), quorum, spec).await;
        watching.map_err(|error| readiness::failed(sentinel.name, &error))?;
        hurry(sentinel, spec).await?;
    }
    for sentinel in &sentinels {
        knows(sentinel, replicas.len(), sentinels.len() - 1).await?;
    }
    wait(None);
    Ok(())
}

/// Makes a node a master, also for its next start.
pub(super) async fn lead(node: &Node) -> RedisResult<()> {
    let mut connection = readiness::connect(node).await?;
    let mut order = redis::cmd("REPLICAOF");
    order.arg("NO").arg("ONE").exec_async(&mut connection).await?;
    redis::cmd("CONFIG").arg("REWRITE").exec_async(&mut connection).await
}

/// Makes a node the replica of the one that is reached there, also for its next start.
pub(super) async fn follow(replica: &Node, master: &NodeAddress) -> RedisResult<()> {
    let mut connection = readiness::connect(replica).await?;
    let mut order = redis::cmd("REPLICAOF");
    order.arg(master.host()).arg(master.port());
    order.exec_async(&mut connection).await?;
    redis::cmd("CONFIG").arg("REWRITE").exec_async(&mut connection).await
}

/// Lets a Sentinel watch the master.
async fn watch(sentinel: &Node, master: &NodeAddress, quorum: usize, spec: &ReplicatedSpec) -> RedisResult<()> {
    let mut connection = readiness::connect(sentinel).await?;
    let mut monitor = redis::cmd("SENTINEL");
    monitor
        .arg("MONITOR")
        .arg(MASTER_NAME)
        .arg(master.host())
        .arg(master.port())
        .arg(quorum);
    monitor.exec_async(&mut connection).await?;
    let millis = |time: Duration| time.as_millis().to_string();
    let mut set = redis::cmd("SENTINEL");
    set.arg("SET").arg(MASTER_NAME);
    set.arg("down-after-milliseconds").arg(millis(spec.down_after));
    set.arg("failover-timeout").arg(millis(spec.failover_timeout));
    if let Some((_, password)) = master.credentials() {
        set.arg("auth-pass").arg(password);
    }
    set.exec_async(&mut connection).await
}

/// Lets a Sentinel ask and publish more often, if the scenario says so. It does not keep that in its file, so it is told again
/// after each start.
pub(super) async fn hurry(sentinel: &Node, spec: &ReplicatedSpec) -> Result<(), LabError> {
    let Some(period) = spec.sentinel_period else {
        return Ok(());
    };
    let told = async {
        let mut order = redis::cmd("SENTINEL");
        order.arg("DEBUG");
        for what in ["info-period", "publish-period"] {
            order.arg(what).arg(period.as_millis().to_string());
        }
        order.exec_async(&mut readiness::connect(sentinel).await?).await
    };
    told.await.map_err(|error| readiness::failed(sentinel.name, &error))
}

/// Waits until a Sentinel knows so many replicas and other Sentinels.
async fn knows(sentinel: &Node, replicas: usize, others: usize) -> Result<(), LabError> {
    let end = Instant::now() + readiness::TIMEOUT;
    loop {
        let known = known(sentinel)
            .await
            .map_err(|error| readiness::failed(sentinel.name, &error))?;
        if known == (replicas, others) {
            return Ok(());
        }
        if Instant::now() >= end {
            let why = format!(
                "it knows {} of {replicas} replicas and {} of {others} other Sentinels",
                known.0, known.1
            );
            return Err(readiness::late(sentinel.name, why));
        }
        sleep(readiness::PAUSE).await;
    }
}

/// How many replicas and other Sentinels a Sentinel knows.
async fn known(sentinel: &Node) -> RedisResult<(usize, usize)> {
    let mut connection = readiness::connect(sentinel).await?;
    let mut ask = redis::cmd("SENTINEL");
    let fields: Vec<String> = ask.arg("MASTER").arg(MASTER_NAME).query_async(&mut connection).await?;
    let number = |name| field(&fields, name).and_then(|number| number.parse().ok()).unwrap_or(0);
    Ok((number("num-slaves"), number("num-other-sentinels")))
}

/// The value behind a name in such an answer.
pub(super) fn field<'a>(fields: &'a [String], name: &str) -> Option<&'a str> {
    let mut pairs = fields.chunks_exact(2);
    pairs.find(|pair| pair[0] == name).map(|pair| pair[1].as_str())
}

#[cfg(test)]
mod tests {
    use redis::Value::{Array, BulkString, Int};

    use super::*;

    #[test]
    fn a_role_is_read() {
        let text = |text: &str| BulkString(text.as_bytes().to_vec());
        let read = |answer: &[redis::Value]| read_role(answer, |port| (port == 17001).then_some(HostId(1)));
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
