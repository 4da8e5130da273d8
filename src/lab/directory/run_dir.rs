//! The directory of one lab: created by its keeper, locked while the keeper lives, and removed at its end. Other code that
//! needs temporary files uses one of its own.
//!
//! The lock file is the first thing created in it and the last one removed, and the keeper holds its lock as long as the
//! directory is in use. So whoever obtains the lock has found a leftover. A keeper may lose a directory that it is just
//! creating to a process that cleans up; then it creates another one.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, OpenOptions, OpenOptionsExt};
use nix::fcntl::OFlag;
use nix::unistd::geteuid;

use crate::directory::base_dir::{BaseDir, try_lock};
use lockstorm_base::input;

/// The file in a run directory that the keeper locks; it contains the keeper's process id.
pub(crate) const LOCK_FILE: &str = "keeper.lock";
/// The prefix of the names of run directories.
pub(crate) const PREFIX: &str = "run-";
/// How often another directory is created if somebody cleans up the first.
const TRIES: usize = 50;

/// A run directory with its lock. Dropping this removes the directory.
#[derive(Debug)]
pub struct RunDir {
    base: BaseDir,
    name: String,
    path: PathBuf,
    /// Locked as long as it is open; the kernel unlocks it when the keeper ends in any way.
    _lock: File,
}

impl RunDir {
    /// Creates and locks a new directory.
    ///
    /// # Errors
    /// The system refuses, or another process removes each one that is created.
    pub fn create() -> io::Result<Self> {
        for _ in 0..TRIES {
            let base = BaseDir::make()?;
            let name = format!("{PREFIX}{:08x}", rand::random::<u32>());
            match base.dir.create_dir_with(&name, DirBuilder::new().mode(0o700)) {
                Ok(()) => {}
                // Another lab has just ended and removed the empty base directory, or the name is taken.
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => {
                    continue;
                }
                Err(error) => {
                    base.tidy();
                    return Err(cannot(&base.path, &error));
                }
            }
            let path = base.path.join(&name);
            match lock(&base.dir, &name) {
                Ok(Some(lock)) => {
                    return Ok(Self {
                        base,
                        name,
                        path,
                        _lock: lock,
                    });
                }
                Ok(None) => {}
                Err(error) => {
                    let _ = remove(&base, &name);
                    return Err(cannot(&path, &error));
                }
            }
        }
        Err(io::Error::other(
            "another process removes every run directory that is created",
        ))
    }

    /// Takes over the directory with this name that this process created before an `exec`, in which it lost the lock.
    /// `None` if it is gone, or a process that cleans up has the lock.
    ///
    /// # Errors
    /// The system refuses.
    pub fn adopt(name: &str) -> io::Result<Option<Self>> {
        let Some(base) = BaseDir::open()?.filter(|_| name.starts_with(PREFIX)) else {
            return Ok(None);
        };
        let path = base.path.join(name);
        let lock = open(&base.dir, name).and_then(|run| open_lock(&run, &path));
        let lock = match lock.and_then(locked) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            lock => lock?,
        };
        Ok(lock.map(|lock| Self {
            base,
            name: name.to_owned(),
            path,
            _lock: lock,
        }))
    }

    /// Leaves it as it is, for whoever cleans up next.
    #[cfg(feature = "docker")]
    pub(crate) fn leave(self) {
        // The lock ends with this process.
        std::mem::forget(self);
    }

    /// Its name, for [`RunDir::adopt`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        // If it can't be removed now, the next start does that.
        let _ = remove(&self.base, &self.name);
    }
}

fn cannot(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("cannot create a directory in {}: {error}", path.display()),
    )
}

/// Creates and locks the lock file of a new directory; `None` if a process that cleans up was faster.
fn lock(base: &Dir, name: &str) -> io::Result<Option<File>> {
    let made = open(base, name).and_then(|run| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        run.open_with(LOCK_FILE, &options)
    });
    let mut lock = match made {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        made => locked(made?.into_std())?,
    };
    if let Some(file) = &mut lock {
        writeln!(file, "{}", std::process::id())?;
    }
    Ok(lock)
}

/// Locks a lock file; `None` if another process has the lock, or has removed the file before it was locked.
fn locked(lock: File) -> io::Result<Option<File>> {
    let is_ours = try_lock(&lock)? && lock.metadata()?.nlink() > 0;
    Ok(is_ours.then_some(lock))
}

/// Opens the lock file of the run directory at this path. What is no file of a keeper keeps nobody waiting and leads nowhere;
/// the error names it.
pub(crate) fn open_lock(run: &Dir, path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags((input::AT_ONCE | OFlag::O_NOFOLLOW).bits());
    let opened = run.open_with(LOCK_FILE, &options);
    opened
        .and_then(|file| input::regular(file.into_std()))
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => error,
            kind => {
                let file = path.join(LOCK_FILE);
                let why = format!("{}: {error}; no Lockstorm has made it: remove it", file.display());
                io::Error::new(kind, why)
            }
        })
}

/// Opens the run directory `name`, if it is a directory of ours and not a link.
pub(crate) fn open(base: &Dir, name: &str) -> io::Result<Dir> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags((OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits());
    let file = base.open_with(name, &options)?.into_std();
    if file.metadata()?.uid() != geteuid().as_raw() {
        return Err(io::Error::other(format!("{name} belongs to another user")));
    }
    Ok(Dir::from_std_file(file))
}

/// Removes a run directory, which a process may still be writing to for a moment. The base directory goes with the last
/// one.
pub(crate) fn remove(base: &BaseDir, name: &str) -> io::Result<()> {
    let mut tries = 0..20;
    loop {
        match empty(&base.dir, name).and_then(|()| base.dir.remove_dir(name)) {
            Ok(()) => break,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !base.dir.exists(name) => break,
            Err(error) if tries.next().is_none() => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
    base.tidy();
    Ok(())
}

/// Removes its contents, the lock file last: if this is interrupted, the rest can still be recognized.
fn empty(base: &Dir, name: &str) -> io::Result<()> {
    let run = open(base, name)?;
    for entry in run.entries()? {
        let entry = entry?;
        if entry.file_name() != LOCK_FILE {
            if entry.file_type()?.is_dir() {
                run.remove_dir_all(entry.file_name())?;
            } else {
                run.remove_file(entry.file_name())?;
            }
        }
    }
    match run.remove_file(LOCK_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_run_directory_that_nobody_uses_is_adopted() {
        let made = RunDir::create().unwrap();
        let (name, path) = (made.name().to_owned(), made.path().to_owned());
        assert!(RunDir::adopt(&name).unwrap().is_none(), "it is in use");
        assert!(RunDir::adopt("run-nothing").unwrap().is_none());
        assert!(RunDir::adopt("../etc").unwrap().is_none());
        // As after an `exec`.
        let RunDir { _lock: lock, .. } = &made;
        lock.unlock().unwrap();
        let adopted = RunDir::adopt(&name).unwrap().unwrap();
        assert_eq!(adopted.path(), path);
        drop(adopted);
        assert!(!path.exists());
    }
}
