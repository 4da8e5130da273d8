//! Keys that are read and written to learn what a node has and does.

use std::time::Duration;

use redis::RedisResult;

use super::stats;
use lockstorm_lock::NodeAddress;

/// How long connecting may take, and each answer.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The key that is written to learn whether a node accepts writes.
const WRITABLE: &str = "lockstorm:writable";

/// Whether the node runs a write.
pub(super) async fn accepts_writes(node: &NodeAddress) -> bool {
    let write = async {
        let mut connection = stats::connect(node, TIMEOUT).await?;
        let mut set = redis::cmd("SET");
        set.arg(WRITABLE).arg(1).arg("PX").arg(1000);
        set.exec_async(&mut connection).await
    };
    RedisResult::is_ok(&write.await)
}

/// What a node has of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// The key has this value.
    Value(String),
    /// The key is not there.
    Nothing,
    /// Another node of the cluster keeps this key.
    Elsewhere,
}

/// What the node has of these keys.
pub(super) async fn kept(node: &NodeAddress, keys: &[&str]) -> RedisResult<Vec<Kept>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut connection = stats::connect(node, TIMEOUT).await?;
    let mut gets = redis::pipe();
    for key in keys {
        gets.get(*key);
    }
    let values: Vec<RedisResult<Option<String>>> = gets.ignore_errors().query_async(&mut connection).await?;
    let kept = |value: RedisResult<Option<String>>| match value {
        Ok(Some(value)) => Ok(Kept::Value(value)),
        Ok(None) => Ok(Kept::Nothing),
        Err(error) if error.redirect_node().is_some() => Ok(Kept::Elsewhere),
        Err(error) => Err(error),
    };
    values.into_iter().map(kept).collect()
}
