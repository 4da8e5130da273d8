//! A node forgets keys and goes on, as after an operator's FLUSHALL.

use std::time::Instant;

use super::telling::{each, is_replica, keys, open, order};
use crate::findings::Found;
use crate::server::node::Node;
use lockstorm_data::model::{Finding, Observer};
use lockstorm_lock::{Reply, Session};

/// Deletes one in so many of its keys, of which the server chooses the order. A replica has what its master has.
///
/// # Errors
/// It does not answer, or still has some of them with the value that they had.
pub(super) async fn begin(node: &Node, every: u64, found: &mut Found) -> Result<(), String> {
    let mut session = open(node).await?;
    if is_replica(&mut session).await? {
        return Ok(());
    }
    let (since, mut keys) = (Instant::now(), 0);
    for database in databases(&mut session).await? {
        order(&mut session, &["SELECT", &database]).await?;
        keys += in_database(&mut session, every).await?;
    }
    // Nobody knows when the first one went.
    found.add_since(since, Finding::Gone { keys }, Observer::Keys);
    Ok(())
}

/// The databases that have keys.
async fn databases(session: &mut Session) -> Result<Vec<String>, String> {
    let said = order(session, &["INFO", "keyspace"]).await?;
    let lines = said.text().unwrap_or_default().lines();
    let number = |line: &str| Some(line.strip_prefix("db")?.split_once(':')?.0.to_owned());
    Ok(lines.filter_map(number).collect())
}

/// Deletes them in the database that is selected, and returns how many are gone.
async fn in_database(session: &mut Session, every: u64) -> Result<u64, String> {
    let step = usize::try_from(every).unwrap_or(usize::MAX).max(1);
    let chosen: Vec<String> = keys(session, "").await?.into_iter().step_by(step).collect();
    let before = each(session, "GET", &chosen).await?;
    if let Some(error) = each(session, "DEL", &chosen).await?.iter().find_map(error) {
        return Err(format!("DEL: {error}"));
    }
    let after = each(session, "GET", &chosen).await?;
    // Somebody may have set one again: with another value, since every lock has its own.
    let is_there = |(before, after): &(&Reply, &Reply)| **before != Reply::Nil && before == after;
    let left = before.iter().zip(&after).filter(is_there).count();
    match left {
        0 => Ok(before.iter().filter(|value| **value != Reply::Nil).count() as u64),
        _ => Err(format!("{left} of {} keys are still there", chosen.len())),
    }
}

fn error(reply: &Reply) -> Option<&str> {
    match reply {
        Reply::Error(error) => Some(error),
        _ => None,
    }
}
