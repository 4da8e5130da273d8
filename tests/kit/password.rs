//! The password of a running lab's nodes, which its owner can read.

use std::fs;
use std::path::{Path, PathBuf};

/// The run directory of this user's lab that has a node on this port, below a directory for temporary files.
pub fn run_dir(temp_dir: &Path, port: u16) -> Option<PathBuf> {
    let base = temp_dir.join(format!("lockstorm-{}", nix::unistd::geteuid()));
    let address = format!("\"127.0.0.1:{port}\"");
    fs::read_dir(base)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .find(|dir| fs::read_to_string(dir.join("lab.json")).is_ok_and(|card| card.contains(&address)))
}

/// The password in a run directory.
pub fn in_dir(run_dir: &Path) -> Option<String> {
    let text = fs::read_to_string(run_dir.join("nodes.conf")).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("requirepass ").map(ToOwned::to_owned))
}

/// The URL of the node on this port for the redis crate.
pub fn url(temp_dir: &Path, port: u16) -> String {
    let password = run_dir(temp_dir, port).and_then(|dir| in_dir(&dir));
    password.map_or_else(
        || format!("redis://127.0.0.1:{port}"),
        |password| format!("redis://:{password}@127.0.0.1:{port}"),
    )
}
