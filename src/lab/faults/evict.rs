//! A cache on the same server fills its memory, so that keys are evicted, locks among them.

use std::time::{Duration, Instant};

use super::telling::{each, info, is_replica, keys, open};
use crate::findings::Found;
use crate::server::node::Node;
use lockstorm_data::model::{Finding, Observer};
use lockstorm_lock::{Reply, Session};

/// How much memory the cache gets, in bytes. Buffers of clients count as well, and are this large together.
const ROOM: u64 = 256 * 1024;
/// What the cache keeps under each key, and how many of these are sent at once.
const VALUE: usize = 1024;
const AT_ONCE: usize = 16;
/// The longest time for which it writes.
const LONGEST: Duration = Duration::from_secs(5);

/// Lets the node evict keys by the policy allkeys-lru, until it has evicted twice as many as it had, or for some seconds, and takes the cache
/// away again.
///
/// # Errors
/// It does not answer, or has evicted nothing.
pub(super) async fn begin(node: &Node, found: &mut Found) -> Result<(), String> {
    let mut session = open(node).await?;
    if is_replica(&mut session).await? {
        return Ok(());
    }
    let tag = own_tag(&mut session).await?;
    let since = Instant::now();
    let had = info(&mut session, "evicted_keys").await?;
    let before = keys(&mut session, "").await?;
    let filled = fill(node, &mut session, &tag, had + 2 * before.len() as u64 + 100).await;
    node.changed.undo(&mut session).await?;
    // Only now nothing more is evicted.
    let evicted = info(&mut session, "evicted_keys").await?.saturating_sub(had);
    let left = each(&mut session, "EXISTS", &before).await?;
    let gone = left.iter().filter(|reply| **reply == Reply::Int(0)).count() as u64;
    let cache = keys(&mut session, &tag).await?;
    each(&mut session, "DEL", &cache).await?;
    filled?;
    if evicted == 0 {
        return Err("it has evicted nothing".to_owned());
    }
    // Nobody knows when the first one went.
    found.add_since(since, Finding::Evicted { evicted, gone }, Observer::Info);
    Ok(())
}

/// Fills its memory until it says that it has evicted so many keys in all.
async fn fill(node: &Node, session: &mut Session, tag: &str, enough: u64) -> Result<(), String> {
    let limit = info(session, "used_memory").await? + ROOM;
    node.changed.set(session, "maxmemory-policy", "allkeys-lru").await?;
    node.changed.set(session, "maxmemory", &limit.to_string()).await?;
    let value = "x".repeat(VALUE);
    let (mut written, start) = (0, Instant::now());
    while start.elapsed() < LONGEST && info(session, "evicted_keys").await? < enough {
        let names: Vec<String> = (written..written + AT_ONCE).map(|n| format!("{tag}{n}")).collect();
        let sets: Vec<[&str; 3]> = names
            .iter()
            .map(|name| ["SET", name.as_str(), value.as_str()])
            .collect();
        let sets: Vec<&[&str]> = sets.iter().map(|set| &set[..]).collect();
        session.ask_all(&sets).await.map_err(|error| error.to_string())?;
        written += AT_ONCE;
    }
    Ok(())
}

/// What the keys of the cache begin with: in a cluster they must belong to this node.
async fn own_tag(session: &mut Session) -> Result<String, String> {
    for n in 0..1000 {
        let tag = format!("lockstorm:cache:{{{n}}}:");
        match session
            .ask(&["EXISTS", &tag])
            .await
            .map_err(|error| error.to_string())?
        {
            Reply::Error(error) if error.starts_with("MOVED ") => {}
            _ => return Ok(tag),
        }
    }
    Err("none of a thousand keys belongs to it".to_owned())
}
