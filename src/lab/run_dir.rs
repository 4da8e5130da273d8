//! The directory of one lab: made by its keeper, locked while the keeper lives, removed at its end.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::unistd::geteuid;

/// The file in a run directory that the keeper locks; it holds the keeper's process id.
pub(super) const LOCK_FILE: &str = "keeper.lock";
/// Run directories in use, or left by a crash.
pub(super) const PREFIX: &str = "run-";
/// Run directories that are not locked yet.
pub(super) const NEW_PREFIX: &str = "new-";

/// `$TMPDIR/lockstorm-UID`, where all run directories of this user are.
pub(super) fn base() -> PathBuf {
    std::env::temp_dir().join(format!("lockstorm-{}", geteuid()))
}

/// A run directory with its lock. Dropping it removes the directory.
#[derive(Debug)]
pub(super) struct RunDir {
    path: PathBuf,
    /// Locked as long as it is open; the kernel unlocks it however the keeper ends.
    _lock: File,
}

impl RunDir {
    /// Makes a new one. It gets its final name when it is locked, so nobody can take it for a leftover.
    pub(super) fn create() -> io::Result<Self> {
        let id = rand::random::<u32>();
        let (base, new) = make(&base(), &format!("{NEW_PREFIX}{id:08x}"))?;
        let mut lock = File::create_new(new.join(LOCK_FILE))?;
        lock.try_lock()?;
        writeln!(lock, "{}", std::process::id())?;
        let path = base.join(format!("{PREFIX}{id:08x}"));
        fs::rename(&new, &path)?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        // What can't be removed now is a leftover for the next start.
        let _ = remove(&self.path);
    }
}

/// Makes directory `name` in the base directory; returns both.
fn make(base: &Path, name: &str) -> io::Result<(PathBuf, PathBuf)> {
    let make = || -> io::Result<_> {
        let base = private(base)?;
        let new = base.join(name);
        DirBuilder::new().mode(0o700).create(&new)?;
        Ok((base, new))
    };
    let mut tries = 0..20;
    loop {
        match make() {
            // Another lab, as it ended, removed the empty base directory in between.
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries.next().is_some() => {}
            made => return made,
        }
    }
}

/// Makes sure that the base directory exists and that nobody else can write to it: it lies in a place shared by all users.
fn private(base: &Path) -> io::Result<PathBuf> {
    let wrap = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", base.display()));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(base)
        .map_err(wrap)?;
    let meta = fs::symlink_metadata(base).map_err(wrap)?;
    if !meta.is_dir() || meta.uid() != geteuid().as_raw() {
        return Err(wrap(io::Error::other(
            "it belongs to somebody else; set TMPDIR to another directory",
        )));
    }
    fs::set_permissions(base, Permissions::from_mode(0o700)).map_err(wrap)?;
    // Without links, as /proc shows directories.
    base.canonicalize().map_err(wrap)
}

/// Removes a run directory that somebody may still be writing to for a moment, and the base directory with its last one.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let mut tries = 0..20;
    while let Err(error) = fs::remove_dir_all(path) {
        if error.kind() == io::ErrorKind::NotFound && !path.exists() {
            break;
        }
        if tries.next().is_none() {
            return Err(error);
        }
        thread::sleep(Duration::from_millis(10));
    }
    if let Some(base) = path.parent() {
        // Only ever removes an empty directory.
        let _ = fs::remove_dir(base);
    }
    Ok(())
}
