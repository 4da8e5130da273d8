//! A node closes all connections of clients, and goes on.

use super::telling::{open, order};
use crate::findings::Found;
use crate::server::node::Node;
use lockstorm_data::model::{Finding, Observer};

/// Closes the connections of clients, those that wait for messages included, but none of other nodes.
///
/// # Errors
/// It does not answer, or a connection that was open before works on.
pub(super) async fn begin(node: &Node, found: &mut Found) -> Result<(), String> {
    let (mut before, mut session) = (open(node).await?, open(node).await?);
    order(&mut before, &["ECHO", "1"]).await?;
    let mut connections = 0;
    for kind in ["normal", "pubsub"] {
        let closed = order(&mut session, &["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"]).await?;
        connections += closed.number::<u64>().unwrap_or(0);
    }
    if before.ask(&["ECHO", "1"]).await.is_ok() {
        return Err("a connection that was open before works on".to_owned());
    }
    // The last one was made to see that.
    let connections = connections.saturating_sub(1);
    found.add(Finding::Disconnected { connections }, Observer::Connect);
    Ok(())
}
