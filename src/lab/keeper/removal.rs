//! Removes the keys of a run from a server that is not ours.

use std::time::Duration;

use tokio::time::sleep;

use crate::server::probe_keys::scan;
use crate::server::sessions::{open, words};
use lockstorm_lock::{NodeAddress, Session};

/// How long each answer may take.
const LIMIT: Duration = Duration::from_secs(2);
/// The pause before the next look. Commands of a Lockstorm that was killed may still be on their way.
const PAUSE: Duration = Duration::from_millis(100);

/// Removes all keys that begin with this. Returns when a second look has found none.
pub(super) async fn remove(address: &NodeAddress, prefix: &str) -> Result<(), String> {
    let mut session = open(address, LIMIT).await.map_err(|error| words(&error))?;
    let mut looks = 0;
    loop {
        looks += 1;
        let removed = look(&mut session, prefix).await?;
        if removed == 0 && looks > 1 {
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}

/// Why the keys could not be removed; `None` if they could.
pub(super) async fn obstacle(address: &NodeAddress, prefix: &str) -> Option<String> {
    let tried = async {
        let mut session = open(address, LIMIT).await.map_err(|error| words(&error))?;
        scan(&mut session, "0", prefix).await
    };
    tried.await.err()
}

/// Goes through all keys once, and returns how many were removed.
async fn look(session: &mut Session, prefix: &str) -> Result<usize, String> {
    let (mut cursor, mut removed) = ("0".to_owned(), 0);
    loop {
        let (next, keys) = scan(session, &cursor, prefix).await?;
        // SCAN finds what matches, and nothing else; that it is ours is checked all the same before it is deleted.
        let ours = keys.iter().map(String::as_str).filter(|key| key.starts_with(prefix));
        let delete: Vec<&str> = ["DEL"].into_iter().chain(ours).collect();
        if delete.len() > 1 {
            session.order(&delete).await.map_err(|error| words(&error))?;
            removed += delete.len() - 1;
        }
        if next == "0" {
            return Ok(removed);
        }
        cursor = next;
    }
}
