//! Programs on this machine.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Usual directories of servers that may be missing in PATH.
const EXTRA_DIRECTORIES: [&str; 3] = ["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"];

/// The first executable file with this name, on PATH or in the usual directories.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(EXTRA_DIRECTORIES.iter().map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|file| is_program(file))
}

/// Whether a command can begin with this word: the path of a program, or the name of one on PATH.
pub fn is_command(word: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match word.contains('/') {
        true => is_program(Path::new(word)),
        false => std::env::split_paths(&path).any(|directory| is_program(&directory.join(word))),
    }
}

/// Whether this is an executable file.
pub(crate) fn is_program(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
