//! Keys that are read and written to learn what a node has and does.

use std::time::Duration;

use crate::server::sessions;
use lockstorm_lock::{NodeAddress, Reply};

/// How long connecting may take, and each answer.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The key that is written to learn whether a node accepts writes.
const WRITABLE: &str = "lockstorm:writable";

/// Whether the node runs a write.
pub(crate) async fn accepts_writes(node: &NodeAddress) -> bool {
    let write = async {
        let mut session = sessions::open(node, TIMEOUT).await?;
        session.order(&["SET", WRITABLE, "1", "PX", "1000"]).await
    };
    write.await.is_ok()
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

/// What the node has of these keys; `None` if it does not answer in time, or refuses to.
pub(crate) async fn kept(node: &NodeAddress, keys: &[&str]) -> Option<Vec<Kept>> {
    if keys.is_empty() {
        return Some(Vec::new());
    }
    let mut session = sessions::open(node, TIMEOUT).await.ok()?;
    let gets: Vec<[&str; 2]> = keys.iter().map(|key| ["GET", *key]).collect();
    let gets: Vec<&[&str]> = gets.iter().map(|get| &get[..]).collect();
    let kept = |value| match value {
        Reply::Nil => Some(Kept::Nothing),
        Reply::Error(error) if error.starts_with("MOVED ") || error.starts_with("ASK ") => Some(Kept::Elsewhere),
        value => Some(Kept::Value(value.text()?.to_owned())),
    };
    session.ask_all(&gets).await.ok()?.into_iter().map(kept).collect()
}
