//! Keys that are read and written to learn what a node has and does.

use std::time::Duration;

use crate::server::sessions::{self, words};
use lockstorm_lock::{NodeAddress, Reply, Session};

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

/// How many keys the server looks at for each question.
const AT_ONCE: &str = "1000";

/// The next cursor, and keys that begin with this.
pub(crate) async fn scan(session: &mut Session, cursor: &str, prefix: &str) -> Result<(String, Vec<String>), String> {
    let pattern = format!("{prefix}*");
    let command = ["SCAN", cursor, "MATCH", &pattern, "COUNT", AT_ONCE];
    let found = session.order(&command).await.map_err(|error| words(&error))?;
    match found.parts() {
        [Reply::Text(next), Reply::Array(keys)] => {
            let keys = keys.iter().filter_map(Reply::text).map(str::to_owned);
            Ok((next.clone(), keys.collect()))
        }
        _ => Err("it does not answer SCAN with keys".to_owned()),
    }
}

/// All keys of the node that begin with this; `None` if it does not answer in time, or refuses to.
pub(crate) async fn all(node: &NodeAddress, prefix: &str) -> Option<Vec<String>> {
    let mut session = sessions::open(node, TIMEOUT).await.ok()?;
    let (mut cursor, mut all) = ("0".to_owned(), Vec::new());
    loop {
        let (next, keys) = scan(&mut session, &cursor, prefix).await.ok()?;
        all.extend(keys);
        if next == "0" {
            return Some(all);
        }
        cursor = next;
    }
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
