//! A file that is replaced whole or not at all.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use nix::unistd::{geteuid, linkat};
use tempfile::{Builder, TempPath};

/// Replaces `path` by a new file, which is first written whole and synced to the disk. Until then it has no name, so that nothing is left
/// of it if a signal ends this process; where a file system has no such files, it has a temporary name that can't be guessed. Nothing
/// that exists is followed or overwritten, so the directory may be one that others can write to.
///
/// # Errors
/// The error of the system or of `fill`. `path` is then unchanged, and no temporary file is left.
pub fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // The new file would take the place of a device or a pipe.
    regular_or_none(path)?;
    let (file, name) = new_file(&directory(path))?;
    keep_mode_and_owner(path, &file)?;
    let whole = filled(&file, name, &directory(path), fill)?;
    whole.persist(path).map_err(|error| error.error)?;
    keep_name(path);
    Ok(())
}

/// Creates `path` in the same way; it must not exist yet.
///
/// # Errors
/// Those of [`replace`], and `AlreadyExists` if `path` exists.
pub fn create(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let (file, name) = new_file(&directory(path))?;
    let whole = filled(&file, name, &directory(path), fill)?;
    whole.persist_noclobber(path).map_err(|error| error.error)?;
    keep_name(path);
    Ok(())
}

/// Writes the whole file, which then has a temporary name.
fn filled(
    file: &File,
    name: Option<TempPath>,
    directory: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<TempPath> {
    let mut writer = BufWriter::new(file);
    fill(&mut writer)?;
    writer.flush()?;
    drop(writer);
    file.sync_all()?;
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |path: &Path| {
        Ok(linkat(
            AT_FDCWD,
            open.as_str(),
            AT_FDCWD,
            path,
            AtFlags::AT_SYMLINK_FOLLOW,
        )?)
    };
    let named = || temporary_name().make_in(directory, link).map_err(without_name);
    name.map_or_else(|| Ok(named()?.into_temp_path()), Ok)
}

/// Syncs the directory, so that the file's name survives a power failure. The file exists even if this fails.
fn keep_name(path: &Path) {
    let _ = File::open(directory(path)).and_then(|directory| directory.sync_all());
}

/// Empties or creates `path`, for what is written to it bit by bit. It is locked as long as the file is open.
///
/// # Errors
/// It is no regular file, a link that others made leads to it, somebody writes to it so already, or the system refuses.
pub fn begin(path: &Path) -> io::Result<File> {
    foreign_link(path)?;
    regular_or_none(path)?;
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
        return Err(io::Error::other("a run that goes on writes there; name another file"));
    }
    file.set_len(0)?;
    Ok(file)
}

/// Checks that no device or pipe would be in the way.
fn regular_or_none(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file; name another one",
        )),
        _ => Ok(()),
    }
}

/// Checks that `path` is not a link made by somebody other than us or root, who could choose the file that we write to.
///
/// # Errors
/// `PermissionDenied`, with the owner of the link.
pub fn foreign_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(link) if link.is_symlink() && link.uid() != geteuid().as_raw() && link.uid() != 0 => {
            let why = format!("it is a link that user {} has made: name the file itself", link.uid());
            Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
        }
        _ => Ok(()),
    }
}

/// Checks whether [`replace`] could create its temporary file, without changing anything.
///
/// # Errors
/// The system's error, for example that the directory is not writable.
pub fn try_replace(path: &Path) -> io::Result<()> {
    new_file(&directory(path)).map(drop)
}

/// Creates the file with the default mode of new files, and with a temporary name if the file system has no files without one. In /dev,
/// where somebody has misspelt a device, it creates none.
fn new_file(directory: &Path) -> io::Result<(File, Option<TempPath>)> {
    if fs::canonicalize(directory).is_ok_and(|directory| directory == Path::new("/dev")) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "/dev has no device of that name, and is no place for files; name another one",
        ));
    }
    let mut unnamed = File::options();
    unnamed.write(true).mode(0o666).custom_flags(OFlag::O_TMPFILE.bits());
    match unnamed.open(directory) {
        // By this path it gets its name.
        Ok(file) if Path::new("/proc/self/fd").is_dir() => Ok((file, None)),
        _ => {
            let named = temporary_name().tempfile_in(directory).map_err(without_name)?;
            let (file, name) = named.into_parts();
            Ok((file, Some(name)))
        }
    }
}

/// A name that is new (`O_EXCL`), with the default mode of new files.
fn temporary_name() -> Builder<'static, 'static> {
    let mut name = Builder::new();
    name.prefix(".lockstorm-")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666));
    name
}

/// The error without the temporary file's name, which would only confuse.
fn without_name(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((why, _)) => io::Error::new(error.kind(), why),
        None => error,
    }
}

/// Gives the new file the mode of the file that it replaces, and its owner if we are allowed to.
fn keep_mode_and_owner(path: &Path, file: &File) -> io::Result<()> {
    let Some(old) = fs::symlink_metadata(path).ok().filter(Metadata::is_file) else {
        return Ok(());
    };
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(Permissions::from_mode(old.mode() & 0o777))
}

fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn what_somebody_writes_bit_by_bit_is_not_emptied_by_another() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("history");
        fs::write(&path, "an old one").unwrap();
        let mut file = begin(&path).unwrap();
        file.write_all(b"a new one").unwrap();
        assert!(
            begin(&path)
                .unwrap_err()
                .to_string()
                .starts_with("a run that goes on writes there")
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "a new one");
        drop(file);
        begin(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }

    #[test]
    fn a_file_keeps_its_mode_and_a_new_one_has_the_usual_one() {
        let place = tempfile::tempdir().unwrap();
        let (old, new) = (place.path().join("old"), place.path().join("new"));
        fs::write(&old, "before").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o640)).unwrap();
        for path in [&old, &new] {
            replace(path, |out| out.write_all(b"after")).unwrap();
            assert_eq!(fs::read_to_string(path).unwrap(), "after");
        }
        fs::write(place.path().join("usual"), "").unwrap();
        let mode = |name: &str| fs::metadata(place.path().join(name)).unwrap().mode() & 0o777;
        assert_eq!((mode("old"), mode("new")), (0o640, mode("usual")));
        assert_eq!(names(place.path()).len(), 3);
    }

    #[test]
    fn a_failed_replacement_leaves_only_the_old_file() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        fs::write(&path, "before").unwrap();
        let error = replace(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(error.unwrap_err().to_string(), "no more");
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(names(place.path()), ["out"]);
    }

    /// A signal may end the process then.
    #[test]
    fn a_file_that_is_not_whole_yet_has_no_name() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        for _ in 0..2 {
            let before = names(place.path());
            replace(&path, |out| {
                out.write_all(b"half")?;
                out.flush()?;
                assert_eq!(names(place.path()), before);
                Ok(())
            })
            .unwrap();
            assert_eq!(names(place.path()), ["out"]);
        }
    }

    #[test]
    fn a_file_that_can_not_be_replaced_leaves_no_temporary_file() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        fs::create_dir(&path).unwrap();
        replace(&path, |out| out.write_all(b"after")).unwrap_err();
        assert!(path.is_dir());
        assert_eq!(names(place.path()), ["out"]);
    }

    #[test]
    fn a_new_file_replaces_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        create(&path, |out| out.write_all(b"first")).unwrap();
        let error = create(&path, |out| out.write_all(b"second")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(names(place.path()), ["out"]);
    }

    #[test]
    fn a_device_that_does_not_exist_does_not_become_a_file() {
        let path = Path::new("/dev/lockstorm-no-such-device");
        for refused in [try_replace(path), replace(path, |_| Ok(())), create(path, |_| Ok(()))] {
            assert!(refused.is_err_and(|error| error.to_string().contains("no device of that name")));
        }
        assert!(!path.exists());
        if Path::new("/dev/shm").is_dir() {
            let in_memory = tempfile::tempdir_in("/dev/shm").unwrap();
            try_replace(&in_memory.path().join("out")).unwrap();
        }
    }

    #[test]
    fn a_trial_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        try_replace(&place.path().join("out")).unwrap();
        assert!(names(place.path()).is_empty());
        let error = try_replace(&place.path().join("missing/out")).unwrap_err();
        assert!(
            !error.to_string().contains(".lockstorm-"),
            "a name that nobody asked for: {error}"
        );
    }
}
