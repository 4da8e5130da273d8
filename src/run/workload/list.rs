//! A value that is a list of pages, which are pushed one by one.

use std::collections::HashSet;

use rand::rngs::SmallRng;

use super::cache::millis;
use super::failed::Failed;
use super::filler::{ACTIVE, Entry, Filler, IN_PROGRESS, Look, set};
use super::tools::Tools;
use lockstorm_data::metrics::{Counter, DamagedList};

/// Reads state, version and list in one transaction, and counts an Active list that has duplicate or missing pages. A list
/// that is not Active may be incomplete, so it is never served.
pub async fn look(tools: &Tools, counter: Counter<'_>, entry: &Entry<'_>, pages: u32) -> Result<Look, Failed> {
    let mut read = redis::pipe();
    read.atomic();
    read.cmd("GET").arg(&entry.state);
    read.cmd("GET").arg(&entry.version);
    read.cmd("LRANGE").arg(&entry.data).arg(0).arg(-1);
    let (state, version, list): (Option<String>, Option<u64>, Vec<String>) =
        read.query_async(&mut tools.cache.connection()).await?;
    let fresh = state.as_deref() == Some(ACTIVE) && !list.is_empty();
    if fresh {
        let (duplicate, missing) = damage(&list, pages);
        if duplicate + missing > 0 {
            counter.damaged_list(DamagedList {
                cache: entry.cache,
                key: entry.key,
                version: version.unwrap_or(0),
                duplicate,
                missing,
            });
        }
    }
    Ok(Look {
        fresh,
        servable: fresh,
        version: version.unwrap_or(0),
    })
}

/// Sets the state to in progress and empties the list, then pushes page after page; the last push also sets the state to
/// Active.
pub async fn fill(filler: &Filler<'_, '_>, pages: u32, rng: &mut SmallRng) -> Result<(), Failed> {
    let entry = filler.entry;
    let mut cache = filler.tools.cache.connection();
    let mut write = redis::pipe();
    write.atomic();
    set(&mut write, &entry.state, IN_PROGRESS, filler.in_progress());
    write.cmd("DEL").arg(&entry.data);
    write.exec_async(&mut cache).await?;
    for page in 1..=pages {
        let value = filler.provide(Some(page), rng).await?;
        filler.section.check()?;
        write.clear();
        write.cmd("RPUSH").arg(&entry.data).arg(element(page, &value));
        if page == pages {
            write.cmd("PEXPIRE").arg(&entry.data).arg(millis(entry.spec.data_ttl));
            set(&mut write, &entry.state, ACTIVE, entry.spec.state_ttl);
            write.cmd("INCR").arg(&entry.version);
        }
        write.exec_async(&mut cache).await?;
    }
    Ok(())
}

/// An element of the list: a page with its number in front.
fn element(page: u32, value: &str) -> String {
    format!("{page}:{value}")
}

/// The numbers of duplicate and of missing pages.
fn damage(list: &[String], pages: u32) -> (u64, u64) {
    let number = |element: &String| element.split(':').next()?.parse().ok();
    let there: HashSet<u32> = list.iter().filter_map(number).collect();
    let first = there.iter().filter(|page| (1..=pages).contains(*page)).count() as u64;
    (list.len() as u64 - first, u64::from(pages) - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_and_missing_pages_are_counted_apart() {
        let list = |pages: &[u32]| pages.iter().map(|page| element(*page, "a: b")).collect::<Vec<_>>();
        assert_eq!(damage(&list(&[1, 2, 3]), 3), (0, 0));
        assert_eq!(damage(&list(&[3, 1, 2]), 3), (0, 0));
        assert_eq!(damage(&list(&[1, 1, 2, 2, 2, 3]), 3), (3, 0));
        assert_eq!(damage(&list(&[1, 1, 3]), 3), (1, 1));
        assert_eq!(damage(&list(&[]), 3), (0, 3));
        assert_eq!(
            damage(&list(&[1, 2, 3, 4]), 3),
            (1, 0),
            "a page that the value should not have counts as a duplicate"
        );
    }
}
