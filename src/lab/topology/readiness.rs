//! What is asked of nodes that work together before the lab is ready.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::LabError;
use crate::server::node::Node;
use crate::server::sessions::{self, words};
use lockstorm_lock::{Reply, Session, SessionError};

/// The key, or the start of keys, that are written to prove that replicas follow.
pub(crate) const PROOF: &str = "lockstorm:ready";
/// How long each of the steps may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The pause before a node is asked again.
const PAUSE: Duration = Duration::from_millis(50);
/// How long one WAIT may block.
const WAIT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long one answer may take, besides what a WAIT blocks.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection to a node that is asked or told something.
pub(crate) async fn connect(node: &Node) -> Result<Session, SessionError> {
    sessions::open(&node.access(), WAIT_TIMEOUT + ANSWER_TIMEOUT).await
}

/// Tells a node something over a connection for just that, and returns its answer.
pub(crate) async fn order(node: &Node, command: &[&str]) -> Result<Reply, SessionError> {
    connect(node).await?.order(command).await
}

/// Waits until `replicas` replicas have acknowledged a write to `key`, which is removed again. A replica that calls itself
/// online may still lack what the master has; a WAIT that was acknowledged is the only proof.
pub(crate) async fn acknowledged(master: &Node, replicas: usize, key: &str) -> Result<(), LabError> {
    let (count, limit) = (replicas.to_string(), WAIT_TIMEOUT.as_millis().to_string());
    until(master, async |session| {
        // min-replicas-to-write refuses it until enough replicas are there, and a cluster until every slot has a master.
        let written = session.ask(&["INCR", key]).await?;
        let followed = session.order(&["WAIT", &count, &limit]).await?;
        let followed: usize = followed.number().unwrap_or(0);
        Ok(match written {
            Reply::Error(error) => Some(error),
            _ if followed >= replicas => session.order(&["DEL", key]).await.map(|_| None)?,
            _ => Some(format!("{followed} of {replicas} replicas have acknowledged a write")),
        })
    })
    .await
}

/// Asks a node again and again until `look` finds nothing that is missing.
pub(crate) async fn until(
    node: &Node,
    look: impl AsyncFn(&mut Session) -> Result<Option<String>, SessionError>,
) -> Result<(), LabError> {
    let mut session = connect(node).await.map_err(failed(node))?;
    let end = Instant::now() + TIMEOUT;
    while let Some(why) = look(&mut session).await.map_err(failed(node))? {
        if Instant::now() >= end {
            return Err(LabError::Other(format!(
                "{} is not ready to work with the others after {TIMEOUT:?}: {why}",
                node.name
            )));
        }
        sleep(PAUSE).await;
    }
    Ok(())
}

/// A node that can't be asked, or answered with an error.
pub(crate) fn failed(node: &Node) -> impl Fn(SessionError) -> LabError {
    let node = node.name;
    move |error| {
        let why = words(&error);
        LabError::Other(format!("{node} is not ready to work with the others: {why}"))
    }
}
