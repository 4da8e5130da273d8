//! A value that is one string.

use rand::rngs::SmallRng;

use super::cache::Cache;
use super::failed::Failed;
use super::filler::{ACTIVE, Entry, Filler, IN_PROGRESS, Look, set};

/// Reads state, value and version in one command.
pub async fn look(cache: &Cache, entry: &Entry<'_>) -> Result<Look, Failed> {
    let (state, value, version): (Option<String>, Option<Vec<u8>>, Option<u64>) = redis::cmd("MGET")
        .arg(&[&entry.state, &entry.data, &entry.version])
        .query_async(&mut cache.connection())
        .await?;
    Ok(Look {
        fresh: state.as_deref() == Some(ACTIVE) && value.is_some(),
        servable: value.is_some(),
        version: version.unwrap_or(0),
    })
}

/// Calls the provider, and writes value, state and version in one transaction. The old value can be served until then.
pub async fn fill(filler: &Filler<'_, '_>, rng: &mut SmallRng) -> Result<(), Failed> {
    let entry = filler.entry;
    let mut cache = filler.tools.cache.connection();
    // Without a lock the state is not set: there is nobody to tell, and a late filler would make a fresh value look
    // expired.
    if filler.section.is_ours() {
        let mut begin = redis::pipe();
        set(&mut begin, &entry.state, IN_PROGRESS, filler.in_progress());
        begin.exec_async(&mut cache).await?;
    }
    let value = filler.provide(None, rng).await?;
    filler.section.check()?;
    let mut write = redis::pipe();
    write.atomic();
    write.cmd("INCR").arg(&entry.version);
    set(&mut write, &entry.data, &value, entry.spec.data_ttl);
    set(&mut write, &entry.state, ACTIVE, entry.spec.state_ttl);
    Ok(write.exec_async(&mut cache).await?)
}
