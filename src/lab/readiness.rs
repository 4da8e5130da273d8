//! What is asked of nodes that work together before the lab is ready.

use std::time::Duration;

use redis::RedisResult;
use redis::aio::MultiplexedConnection;
use tokio::time::{Instant, sleep};

use super::node::Node;
use super::{LabError, NodeName, stats};

/// How long each of the steps may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// The pause before a node is asked again.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
/// How long one WAIT may block.
const WAIT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long one answer may take, besides what a WAIT blocks.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection to a node that is asked or told something.
pub(super) async fn connect(node: &Node) -> RedisResult<MultiplexedConnection> {
    stats::connect(&node.access(), WAIT_TIMEOUT + ANSWER_TIMEOUT).await
}

/// Waits until `replicas` replicas have acknowledged a write to `key`, which is removed again. A replica that calls itself
/// online may still lack what the master has; a WAIT that was acknowledged is the only proof.
pub(super) async fn acknowledged(master: &Node, replicas: usize, key: &str) -> Result<(), LabError> {
    let fail = |error| failed(master.name, &error);
    let mut connection = connect(master).await.map_err(fail)?;
    let end = Instant::now() + TIMEOUT;
    loop {
        // min-replicas-to-write refuses it until enough replicas are there, and a cluster until every slot has a master.
        let written: RedisResult<i64> = redis::cmd("INCR").arg(key).query_async(&mut connection).await;
        let mut wait = redis::cmd("WAIT");
        let limit = u64::try_from(WAIT_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        wait.arg(replicas).arg(limit);
        let followed: usize = wait.query_async(&mut connection).await.map_err(fail)?;
        if written.is_ok() && followed >= replicas {
            let mut delete = redis::cmd("DEL");
            return delete.arg(key).exec_async(&mut connection).await.map_err(fail);
        }
        if Instant::now() >= end {
            let why = match written {
                Err(error) => error.to_string(),
                Ok(_) => format!("{followed} of {replicas} replicas have acknowledged a write"),
            };
            return Err(late(master.name, why));
        }
        sleep(PAUSE).await;
    }
}

/// A node that answered with an error.
pub(super) fn failed(node: NodeName, error: &redis::RedisError) -> LabError {
    LabError::NotReady {
        node,
        why: error.to_string(),
        waited: Duration::ZERO,
    }
}

/// A node that was waited for.
pub(super) fn late(node: NodeName, why: String) -> LabError {
    LabError::NotReady {
        node,
        why,
        waited: TIMEOUT,
    }
}
