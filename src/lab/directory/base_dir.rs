//! `$TMPDIR/lockstorm-UID`, the parent of all run directories of this user. It is opened once, checked, and from then on
//! used by its descriptor, because other users share `TMPDIR` and may plant a link there or swap directories.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use cap_std::fs::Dir;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{AccessFlags, access, geteuid};

use crate::error::LabError;

/// Advice that is added if the directory can't be used.
const ADVICE: &str = "set TMPDIR to another directory";
/// How often somebody tries to lock the directory who wants to remove it.
const TIDYINGS: usize = 5;

/// Checks that `TMPDIR` (or `/tmp`) is a directory that we can write to. It is never created: if it is missing, its name
/// is wrong.
///
/// # Errors
/// What is wrong with it.
pub fn check_temp_dir() -> Result<(), LabError> {
    let path = std::env::temp_dir();
    let wrong = |why: &str| {
        let path = path.display();
        LabError::Other(format!("{path} {why}: set TMPDIR to a directory that you can write to"))
    };
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(wrong("does not exist")),
        Err(error) => Err(wrong(&format!("can't be used ({error})"))),
        Ok(meta) if !meta.is_dir() => Err(wrong("is not a directory")),
        // If the base directory exists already, nothing more is needed.
        Ok(_) if fs::symlink_metadata(path_in(&path)).is_ok() => Ok(()),
        Ok(_) => access(&path, AccessFlags::W_OK | AccessFlags::X_OK)
            .map_err(|error| wrong(&format!("can't be written to ({})", io::Error::from(error)))),
    }
}

fn path_in(temp_dir: &Path) -> PathBuf {
    temp_dir.join(format!("lockstorm-{}", geteuid()))
}

/// The base directory, opened.
#[derive(Debug)]
pub(crate) struct BaseDir {
    pub dir: Dir,
    /// Its path without links, as /proc shows it.
    pub path: PathBuf,
}

impl BaseDir {
    /// Opens the base directory if it exists.
    pub(crate) fn open() -> io::Result<Option<Self>> {
        Self::at(&path_in(&std::env::temp_dir()))
    }

    /// Opens the base directory, and creates it if it is missing.
    pub(crate) fn make() -> io::Result<Self> {
        let path = path_in(&std::env::temp_dir());
        // Another lab may remove it while it is empty.
        for _ in 0..20 {
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    let why = format!("cannot create {}: {error}; {ADVICE}", path.display());
                    return Err(io::Error::new(error.kind(), why));
                }
                _ => {}
            }
            if let Some(base) = Self::at(&path)? {
                return Ok(base);
            }
        }
        Err(refuse(&path, "another process keeps removing it"))
    }

    /// Opens the base directory at this path, but only if it is a directory of ours that nobody else can write to.
    pub(crate) fn at(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(match error.raw_os_error().map(Errno::from_raw) {
                    Some(Errno::ENOTDIR | Errno::ELOOP) => refuse(path, "it is a link or a file and not a directory"),
                    _ => refuse(path, &error.to_string()),
                });
            }
        };
        let meta = file.metadata()?;
        if meta.uid() != geteuid().as_raw() {
            return Err(refuse(path, &format!("it belongs to user {}", meta.uid())));
        }
        if meta.mode() & 0o022 != 0 {
            return Err(refuse(path, "others can write to it"));
        }
        let path = match without_links(path, &file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        Ok(Some(Self {
            dir: Dir::from_std_file(file),
            path,
        }))
    }

    /// Locks it for as long as what is returned is open; `None` if another process has the lock.
    pub(crate) fn try_lock(&self) -> io::Result<Option<File>> {
        let base = self.dir.open(".")?.into_std();
        Ok(try_lock(&base)?.then_some(base))
    }

    /// Whether its path still leads to it.
    pub(crate) fn is_in_place(&self) -> bool {
        let opened = self.dir.open(".").map(cap_std::fs::File::into_std);
        opened.is_ok_and(|dir| without_links(&self.path, &dir).is_ok())
    }

    /// Removes the base directory if it is empty, unless somebody who has locked it is about to use it.
    pub(crate) fn tidy(&self) {
        // Others who tidy up or look have it for a moment.
        for _ in 0..TIDYINGS {
            if let Ok(Some(_lock)) = self.try_lock() {
                let _ = fs::remove_dir(&self.path);
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Locks a file for as long as it is open; false if another process has the lock.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The path without links, if it still leads to this very directory.
fn without_links(path: &Path, dir: &File) -> io::Result<PathBuf> {
    let found = path.canonicalize()?;
    let (there, here) = (fs::symlink_metadata(&found)?, dir.metadata()?);
    if (there.dev(), there.ino()) == (here.dev(), here.ino()) {
        Ok(found)
    } else {
        Err(refuse(
            path,
            "another process has just put another directory in its place",
        ))
    }
}

fn refuse(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{}: {why}; {ADVICE}", path.display()))
}
