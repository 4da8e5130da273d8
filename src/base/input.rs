//! Files that are read. What lies at a path may be there by mistake, or because somebody wants us to wait: it is opened without
//! waiting, only a regular file is read, and only so much of it.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

/// For those who open in another way: a pipe or a device does not make us wait. [`regular`] then says whether it is one.
pub const AT_ONCE: OFlag = OFlag::O_NONBLOCK.union(OFlag::O_NOCTTY);

/// Opens the file that somebody has named; a link leads to it.
///
/// # Errors
/// It is not a regular file, or the system refuses.
pub fn open(path: &Path) -> io::Result<File> {
    let cure = |why| io::Error::other(format!("{why}; name a regular file"));
    // Opening some devices does something.
    check(fs::metadata(path)?.file_type()).map_err(cure)?;
    open_with(path, AT_ONCE)
}

/// Opens a file that one of our processes has made, unless something else is in its place.
///
/// # Errors
/// It is not a regular file; the error names it and says what to do. Or the system refuses.
pub fn open_own(path: &Path) -> io::Result<File> {
    let cure = |why| {
        io::Error::other(format!(
            "{}: {why}; no Lockstorm has made it: remove it",
            path.display()
        ))
    };
    check(fs::symlink_metadata(path)?.file_type()).map_err(cure)?;
    open_with(path, AT_ONCE | OFlag::O_NOFOLLOW)
}

fn open_with(path: &Path, flags: OFlag) -> io::Result<File> {
    regular(OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?)
}

/// Returns the file if it is a regular one.
///
/// # Errors
/// It is something else.
pub fn regular(file: File) -> io::Result<File> {
    check(file.metadata()?.file_type()).map_err(io::Error::other)?;
    Ok(file)
}

/// Reads the rest of a file.
///
/// # Errors
/// It has more than `most` MB, or the system refuses.
pub fn whole(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let too_large = || io::Error::other(format!("it is larger than {most} MB"));
    if file.metadata()?.len() > most << 20 {
        return Err(too_large());
    }
    // It may grow meanwhile.
    let mut bytes = Vec::new();
    file.take((most << 20) + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most << 20 {
        return Err(too_large());
    }
    Ok(bytes)
}

fn check(kind: FileType) -> Result<(), String> {
    if kind.is_file() {
        return Ok(());
    }
    let kind = match kind {
        _ if kind.is_dir() => "directory",
        _ if kind.is_symlink() => "link",
        _ if kind.is_fifo() => "pipe",
        _ if kind.is_socket() => "socket",
        _ => "device",
    };
    Err(format!("it is a {kind} and not a regular file"))
}
