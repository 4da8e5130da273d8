//! A node forgets keys and goes on, as after an operator's FLUSHALL.

use super::telling::{each, is_replica, keys, open};
use crate::findings::Found;
use crate::server::node::Node;
use lockstorm_data::model::{Finding, Observer};
use lockstorm_lock::Reply;

/// Deletes one in so many of its keys, of which the server chooses the order. A replica has what its master has.
///
/// # Errors
/// It does not answer, or still has some of them with the value that they had.
pub(super) async fn begin(node: &Node, every: u64, found: &mut Found) -> Result<(), String> {
    let mut session = open(node).await?;
    if is_replica(&mut session).await? {
        return Ok(());
    }
    let step = usize::try_from(every).unwrap_or(usize::MAX).max(1);
    let chosen: Vec<String> = keys(&mut session).await?.into_iter().step_by(step).collect();
    let before = each(&mut session, "GET", &chosen).await?;
    if let Some(error) = each(&mut session, "DEL", &chosen).await?.iter().find_map(error) {
        return Err(format!("DEL: {error}"));
    }
    let after = each(&mut session, "GET", &chosen).await?;
    // Somebody may have set one again: with another value, since every lock has its own.
    let is_there = |(before, after): &(&Reply, &Reply)| **before != Reply::Nil && before == after;
    let left = before.iter().zip(&after).filter(is_there).count();
    if left > 0 {
        return Err(format!("{left} of {} keys are still there", chosen.len()));
    }
    let keys = before.iter().filter(|value| **value != Reply::Nil).count() as u64;
    found.add(Finding::Gone { keys }, Observer::Keys);
    Ok(())
}

fn error(reply: &Reply) -> Option<&str> {
    match reply {
        Reply::Error(error) => Some(error),
        _ => None,
    }
}
