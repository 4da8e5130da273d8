//! Conversations with a node that is to bring about a fault.

use std::time::Duration;

use crate::server::node::Node;
use crate::server::sessions::{self, words};
use lockstorm_lock::{Reply, Session};

/// How long connecting may take, and each answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);
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
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let commands: Vec<[&str; 2]> = keys.iter().map(|key| [command, key.as_str()]).collect();
    let commands: Vec<&[&str]> = commands.iter().map(|command| &command[..]).collect();
    session.ask_all(&commands).await.map_err(|error| words(&error))
}

/// All keys of the database in which locks are.
pub(super) async fn keys(session: &mut Session) -> Result<Vec<String>, String> {
    let found = order(session, &["KEYS", "*"]).await?;
    Ok(found
        .parts()
        .iter()
        .filter_map(Reply::text)
        .map(str::to_owned)
        .collect())
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
