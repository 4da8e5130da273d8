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
    /// By arm, holder and key.
    open: HashMap<(String, Holder, String), Acquire>,
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
                let place = (acquire.arm.clone(), who, acquire.key.clone());
                match self.open.insert(place, acquire) {
                    Some(before) => Err(format!("{who} has not released \"{}\" yet", before.key)),
                    None => Ok(None),
                }
            }
            Operation::Release(release) => {
                let (who, key) = (release.client, &release.key);
                let acquire = self.open.remove(&(release.arm.clone(), who, key.clone()));
                let acquire = acquire.filter(|acquire| acquire.returned <= release.call);
                let acquire = acquire.ok_or_else(|| format!("{who} does not hold \"{key}\" then"))?;
                Ok(Some(Section { acquire, release }))
            }
            Operation::Acquire(_) | Operation::Sale(_) => Ok(None),
        }
    }

    /// The arms of the holds that have not ended. Those that a run leaves were cut off, and nobody knows how long they lasted.
    pub fn open(&self) -> impl Iterator<Item = &str> {
        self.open.keys().map(|(arm, ..)| arm.as_str())
    }
}
