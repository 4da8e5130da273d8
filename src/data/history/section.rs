use std::collections::HashMap;

use super::holder::Holder;
use super::operation::{Acquire, Answer, Operation, Release};

/// A hold of a lock: both its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// How it began.
    pub acquire: Acquire,
    /// How it ended.
    pub release: Release,
}

/// Finds the release of each acquire. It remembers the holds that have not ended.
#[derive(Debug, Default)]
pub struct Sections {
    open: HashMap<(String, Holder), Acquire>,
}

impl Section {
    /// From when until when its holder had reason to rely on the lock; `None` if it never had.
    pub fn belief(&self) -> Option<[i64; 2]> {
        Some([self.acquire.returned, self.release.call]).filter(|[begin, end]| begin < end)
    }
}

impl Sections {
    /// Takes in the next operation; a release ends a section.
    ///
    /// # Errors
    /// Its client can't have done that now.
    pub fn take(&mut self, operation: Operation) -> Result<Option<Section>, String> {
        match operation {
            Operation::Acquire(acquire) if acquire.result == Answer::Ok => {
                let who = acquire.client;
                match self.open.insert((acquire.arm.clone(), who), acquire) {
                    Some(before) => Err(format!("{who} has not released \"{}\" yet", before.key)),
                    None => Ok(None),
                }
            }
            Operation::Release(release) => {
                let (who, key) = (release.client, &release.key);
                let acquire = self.open.remove(&(release.arm.clone(), who));
                let acquire = acquire.filter(|acquire| acquire.key == *key && acquire.returned <= release.call);
                let acquire = acquire.ok_or_else(|| format!("{who} does not hold \"{key}\" then"))?;
                Ok(Some(Section { acquire, release }))
            }
            Operation::Acquire(_) | Operation::Sale(_) => Ok(None),
        }
    }

    /// The arms of the holds that have not ended. Those that a run leaves were cut off, and nobody knows how long they lasted.
    pub fn open(&self) -> impl Iterator<Item = &str> {
        self.open.keys().map(|(arm, _)| arm.as_str())
    }
}
