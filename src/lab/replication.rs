//! The replicated topology: a master, its replicas, and the Sentinels that watch them.

use std::sync::Arc;
use std::time::Duration;

use redis::RedisResult;
use redis::aio::MultiplexedConnection;
use tokio::time::{Instant, sleep};

use super::node::Node;
use super::node_name::Role;
use super::nodes::Nodes;
use super::stats;
use super::{LabError, NodeName};
use crate::lock::NodeAddress;
use crate::model::ReplicationRole;
use crate::scenario::ReplicatedSpec;

/// The name by which Sentinels know the master.
pub const MASTER_NAME: &str = "lockstorm";
/// How long the replicas, and then the Sentinels, may take to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long one WAIT may block.
const WAIT_TIMEOUT: Duration = Duration::from_millis(500);
/// The pause before a Sentinel is asked again.
const PAUSE: Duration = Duration::from_millis(50);
/// How long one answer may take, besides what a WAIT blocks.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// The key that is written to prove that the replicas follow.
const PROOF: &str = "lockstorm:ready";

/// Asks a replicated node for its role; `None` if it does not answer in time.
pub(super) async fn role(node: &Node) -> Option<ReplicationRole> {
    let mut connection = stats::connect(&node.access(), stats::STATS_TIMEOUT).await.ok()?;
    let answer: Vec<redis::Value> = redis::cmd("ROLE").query_async(&mut connection).await.ok()?;
    read_role(&answer)
}

/// Reads the answer to ROLE: `master`, its offset and its replicas, or `slave`, the address of its master, the state of the
/// link and its offset.
fn read_role(answer: &[redis::Value]) -> Option<ReplicationRole> {
    let text = |at: usize| redis::from_redis_value_ref::<String>(answer.get(at)?).ok();
    let number = |at: usize| u64::try_from(redis::from_redis_value_ref::<i64>(answer.get(at)?).ok()?).ok();
    match text(0)?.as_str() {
        "master" => Some(ReplicationRole::Master {
            replicas: answer.get(2)?.as_sequence()?.len(),
            offset: number(1)?,
        }),
        "slave" => Some(ReplicationRole::Replica {
            master: number(2)?.try_into().ok()?,
            connected: text(3)? == "connected",
            // It is -1 before the first synchronization.
            offset: number(4).unwrap_or(0),
        }),
        _ => None,
    }
}

/// Makes the first replicated node the master of the others and lets the Sentinels watch it. Returns when the replicas have
/// acknowledged a write, and then every Sentinel knows all the others and all replicas. A replica that calls itself online may
/// still lack what the master has; a WAIT that was acknowledged is the only proof.
pub(super) async fn establish(nodes: &Nodes, spec: &ReplicatedSpec) -> Result<(), LabError> {
    let data: Vec<&Arc<Node>> = nodes.of(Role::Replicated).collect();
    let Some((master, replicas)) = data.split_first() else {
        return Ok(());
    };
    for replica in replicas {
        follow(replica, master)
            .await
            .map_err(|error| not_ready(replica.name, &error))?;
    }
    acknowledged(master, replicas.len()).await?;
    let sentinels: Vec<&Arc<Node>> = nodes.of(Role::Sentinel).collect();
    let quorum = sentinels.len() / 2 + 1;
    for sentinel in &sentinels {
        let watching = watch(sentinel, &master.access(), quorum, spec).await;
        watching.map_err(|error| not_ready(sentinel.name, &error))?;
    }
    for sentinel in &sentinels {
        knows(sentinel, replicas.len(), sentinels.len() - 1).await?;
    }
    Ok(())
}

/// Makes a node the replica of another, also for its next start.
async fn follow(replica: &Node, master: &Node) -> RedisResult<()> {
    let mut connection = connect(replica).await?;
    let address = master.address();
    let mut order = redis::cmd("REPLICAOF");
    order.arg(address.ip().to_string()).arg(address.port());
    order.exec_async(&mut connection).await?;
    redis::cmd("CONFIG").arg("REWRITE").exec_async(&mut connection).await
}

/// Waits until `replicas` replicas have acknowledged a write.
async fn acknowledged(master: &Node, replicas: usize) -> Result<(), LabError> {
    let fail = |error| not_ready(master.name, &error);
    let mut connection = connect(master).await.map_err(fail)?;
    let end = Instant::now() + READY_TIMEOUT;
    loop {
        let mut proof = redis::cmd("INCR");
        // min-replicas-to-write refuses it until enough replicas are there.
        let written: RedisResult<i64> = proof.arg(PROOF).query_async(&mut connection).await;
        let mut wait = redis::cmd("WAIT");
        let limit = u64::try_from(WAIT_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        wait.arg(replicas).arg(limit);
        let followed: usize = wait.query_async(&mut connection).await.map_err(fail)?;
        if written.is_ok() && followed >= replicas {
            return redis::cmd("DEL")
                .arg(PROOF)
                .exec_async(&mut connection)
                .await
                .map_err(fail);
        }
        if Instant::now() >= end {
            return Err(LabError::NotReplicated {
                node: master.name,
                why: format!("{followed} of {replicas} replicas have acknowledged a write"),
                waited: READY_TIMEOUT,
            });
        }
        sleep(PAUSE).await;
    }
}

/// Lets a Sentinel watch the master.
async fn watch(sentinel: &Node, master: &NodeAddress, quorum: usize, spec: &ReplicatedSpec) -> RedisResult<()> {
    let mut connection = connect(sentinel).await?;
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

/// Waits until a Sentinel knows so many replicas and other Sentinels.
async fn knows(sentinel: &Node, replicas: usize, others: usize) -> Result<(), LabError> {
    let end = Instant::now() + READY_TIMEOUT;
    loop {
        let known = known(sentinel)
            .await
            .map_err(|error| not_ready(sentinel.name, &error))?;
        if known == (replicas, others) {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(LabError::NotReplicated {
                node: sentinel.name,
                why: format!(
                    "it knows {} of {replicas} replicas and {} of {others} other Sentinels",
                    known.0, known.1
                ),
                waited: READY_TIMEOUT,
            });
        }
        sleep(PAUSE).await;
    }
}

/// How many replicas and other Sentinels a Sentinel knows.
async fn known(sentinel: &Node) -> RedisResult<(usize, usize)> {
    let mut connection = connect(sentinel).await?;
    let mut ask = redis::cmd("SENTINEL");
    let fields: Vec<String> = ask.arg("MASTER").arg(MASTER_NAME).query_async(&mut connection).await?;
    let number = |name: &str| {
        let mut pairs = fields.chunks_exact(2);
        let found = pairs.find(|pair| pair[0] == name).and_then(|pair| pair[1].parse().ok());
        found.unwrap_or(0)
    };
    Ok((number("num-slaves"), number("num-other-sentinels")))
}

async fn connect(node: &Node) -> RedisResult<MultiplexedConnection> {
    stats::connect(&node.access(), WAIT_TIMEOUT + ANSWER_TIMEOUT).await
}

fn not_ready(node: NodeName, error: &redis::RedisError) -> LabError {
    LabError::NotReplicated {
        node,
        why: error.to_string(),
        waited: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use redis::Value::{Array, BulkString, Int};

    use super::*;

    #[test]
    fn a_role_is_read() {
        let text = |text: &str| BulkString(text.as_bytes().to_vec());
        let replica = || Array(vec![text("127.0.0.1"), text("17002"), text("400")]);
        assert_eq!(
            read_role(&[text("master"), Int(412), Array(vec![replica(), replica()])]),
            Some(ReplicationRole::Master {
                replicas: 2,
                offset: 412
            })
        );
        let slave = |state: &str, offset| [text("slave"), text("127.0.0.1"), Int(17001), text(state), Int(offset)];
        let role = |connected, offset| ReplicationRole::Replica {
            master: 17001,
            connected,
            offset,
        };
        assert_eq!(read_role(&slave("connected", 400)), Some(role(true, 400)));
        assert_eq!(read_role(&slave("sync", -1)), Some(role(false, 0)));
        assert_eq!(read_role(&[text("sentinel"), Array(vec![])]), None);
        assert_eq!(read_role(&[]), None);
    }
}
