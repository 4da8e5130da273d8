//! Who starts a lab that is to be kept: one after the other, by a lock on the directory of all labs.

use std::fs::File;
use std::io;

use crate::directory::base_dir::BaseDir;

/// How often the directory is opened again if it was removed before it was locked.
const TRIES: usize = 20;

/// Held for as long as a lab is being started. The kernel unlocks it when the process ends in any way.
#[derive(Debug)]
pub struct StartLock {
    base: BaseDir,
    lock: Option<File>,
}

impl StartLock {
    /// Takes it; `None` if another process has it.
    ///
    /// # Errors
    /// The directory can't be used.
    pub fn take() -> io::Result<Option<Self>> {
        for _ in 0..TRIES {
            let base = BaseDir::make()?;
            let Some(lock) = base.try_lock()? else { return Ok(None) };
            // Another lab may have just ended, and removed the empty directory before it was locked.
            if base.is_in_place() {
                return Ok(Some(Self { base, lock: Some(lock) }));
            }
        }
        Ok(None)
    }

    /// Whether a process has it.
    ///
    /// # Errors
    /// The directory can't be used.
    pub fn is_taken() -> io::Result<bool> {
        match BaseDir::open()? {
            Some(base) => Ok(base.try_lock()?.is_none()),
            None => Ok(false),
        }
    }
}

impl Drop for StartLock {
    fn drop(&mut self) {
        // While it was locked nobody else has removed it.
        self.lock = None;
        self.base.tidy();
    }
}
