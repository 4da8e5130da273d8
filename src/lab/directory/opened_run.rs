//! A run directory, opened: whoever keeps a lab for other programs puts files for its users there, and is found and asked
//! there.

use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use nix::fcntl::OFlag;

use crate::directory::base_dir::BaseDir;
use crate::directory::run_dir;

/// A run directory of this user that is used by its descriptor, so that nothing that others put in `TMPDIR` can take its
/// place.
#[derive(Debug)]
pub struct OpenedRun {
    run: Dir,
    path: PathBuf,
}

impl OpenedRun {
    /// Opens the run directory at this path.
    ///
    /// # Errors
    /// It is gone, or it or the directory above it is not this user's own.
    pub fn open(path: &Path) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let (parent, name) = path.parent().zip(path.file_name()).ok_or_else(missing)?;
        let base = BaseDir::at(parent)?.ok_or_else(missing)?;
        let run = run_dir::open(&base.dir, &name.to_string_lossy())?;
        let path = base.path.join(name);
        Ok(Self { run, path })
    }

    /// Its path, for people.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.run.symlink_metadata(name).is_ok()
    }

    /// The path of a socket in it. On Linux it leads through the descriptor, so that it is short enough for a socket, however
    /// long the path of `TMPDIR` is.
    pub fn socket(&self, name: &str) -> PathBuf {
        #[cfg(target_os = "linux")]
        let dir = PathBuf::from(format!("/proc/self/fd/{}", self.run.as_raw_fd()));
        #[cfg(not(target_os = "linux"))]
        let dir = &self.path;
        dir.join(name)
    }

    /// Creates a file that only this user can read, and returns its path.
    ///
    /// # Errors
    /// It exists already, or can't be written.
    pub fn create(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.custom_flags(OFlag::O_NOFOLLOW.bits());
        let mut file = self.run.open_with(name, &options)?;
        file.write_all(text.as_bytes())?;
        Ok(self.path.join(name))
    }
}
