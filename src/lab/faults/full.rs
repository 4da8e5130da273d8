//! The memory of a node is full, and its policy is to refuse writes.

use super::telling::{is_replica, open, refusal};
use crate::findings::Found;
use crate::server::node::Node;
use lockstorm_data::model::{Finding, Observer};

/// Gives it a byte of memory, so that it refuses whatever needs some.
///
/// # Errors
/// It does not answer, or takes writes all the same.
pub(super) async fn begin(node: &Node, found: &mut Found) -> Result<(), String> {
    let mut session = open(node).await?;
    if is_replica(&mut session).await? {
        return Ok(());
    }
    node.changed.set(&mut session, "maxmemory-policy", "noeviction").await?;
    node.changed.set(&mut session, "maxmemory", "1").await?;
    match refusal(&mut session).await? {
        Some(answer) if answer.starts_with("OOM ") => {
            found.add(Finding::OutOfMemory, Observer::Write);
            Ok(())
        }
        answer => Err(format!("it answers a write with {}", answer.as_deref().unwrap_or("OK"))),
    }
}

/// Gives it the memory back that it had.
///
/// # Errors
/// It does not answer, or goes on refusing writes.
pub(super) async fn end(node: &Node, found: &mut Found) -> Result<(), String> {
    let mut session = open(node).await?;
    if is_replica(&mut session).await? {
        return node.changed.undo(&mut session).await;
    }
    node.changed.undo(&mut session).await?;
    match refusal(&mut session).await? {
        Some(answer) if answer.starts_with("OOM ") => Err(format!("it answers a write with {answer}")),
        _ => {
            found.add(Finding::NotRefused, Observer::Write);
            Ok(())
        }
    }
}
