//! Conversations with a node that is to bring about a fault.

use std::collections::HashSet;
use std::time::Duration;

use crate::server::node::Node;
use crate::server::probe_keys::scan;
use crate::server::sessions::{self, words};
use lockstorm_lock::{Reply, Session};

/// How long connecting may take, and each answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);
/// How many commands are sent at once.
const AT_ONCE: usize = 1_000;
/// A key that is written to see whether a node takes writes, and how long it may live.
const PROBE: [&str; 5] = ["SET", "lockstorm:probe", "1", "PX", "1"];

/// A session with this node.
pub(super) async fn open(node: &Node) -> Result<Session, String> {
    let opened = sessions::open(&node.access(), TIMEOUT).await;
    opened.map_err(|error| words(&error))
}

/// Sends a command that has to succeed.
pub(super) async fn order(session: &mut Session, command: &[&str]) -> Result<Reply, String> {
    let answer = session.order(command).await;
    answer.map_err(|error| format!("{}: {}", command[0], words(&error)))
}

/// Sends one command for each of these keys, and returns the replies.
pub(super) async fn each(session: &mut Session, command: &str, keys: &[String]) -> Result<Vec<Reply>, String> {
    let mut replies = Vec::with_capacity(keys.len());
    for some in keys.chunks(AT_ONCE) {
        let commands: Vec<[&str; 2]> = some.iter().map(|key| [command, key.as_str()]).collect();
        let commands: Vec<&[&str]> = commands.iter().map(|command| &command[..]).collect();
        replies.extend(session.ask_all(&commands).await.map_err(|error| words(&error))?);
    }
    Ok(replies)
}

/// All keys of the session's database that begin with this.
pub(super) async fn keys(session: &mut Session, prefix: &str) -> Result<Vec<String>, String> {
    let (mut cursor, mut all) = ("0".to_owned(), Vec::new());
    loop {
        let (next, found) = scan(session, &cursor, prefix).await?;
        all.extend(found);
        if next == "0" {
            // A table that is resized meanwhile may show a key twice.
            let mut seen = HashSet::new();
            all.retain(|key: &String| seen.insert(key.clone()));
            return Ok(all);
        }
        cursor = next;
    }
}

/// Whether it only repeats what its master says.
pub(super) async fn is_replica(session: &mut Session) -> Result<bool, String> {
    let role = order(session, &["ROLE"]).await?;
    Ok(role.parts().first().and_then(Reply::text) == Some("slave"))
}

/// A number in INFO; 0 if there is none of this name.
pub(super) async fn info(session: &mut Session, name: &str) -> Result<u64, String> {
    Ok(info_text(session, name).await?.parse().unwrap_or(0))
}

/// A value in INFO; empty if there is none of this name.
pub(super) async fn info_text(session: &mut Session, name: &str) -> Result<String, String> {
    let said = order(session, &["INFO"]).await?;
    let mut lines = said.text().unwrap_or_default().lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(value.unwrap_or_default().trim().to_owned())
}

/// Why it refuses a write now; `None` if it takes it, or another node of its cluster would.
pub(super) async fn refusal(session: &mut Session) -> Result<Option<String>, String> {
    match session.ask(&PROBE).await.map_err(|error| words(&error))? {
        Reply::Error(error) if !error.starts_with("MOVED ") => Ok(Some(error)),
        _ => Ok(None),
    }
}
