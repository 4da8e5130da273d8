//! The files in which a server keeps its keys.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Its snapshot, and the files of its append-only log.
pub(crate) fn data_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_data = name.starts_with("appendonly") || path.extension().is_some_and(|kind| kind == "rdb");
        match fs::symlink_metadata(&path)? {
            of if of.is_dir() && name == "appendonlydir" => all.extend(
                fs::read_dir(&path)?
                    .map(|entry| Ok(entry?.path()))
                    .collect::<io::Result<Vec<_>>>()?,
            ),
            of if of.is_file() && is_data => all.push(path),
            _ => {}
        }
    }
    Ok(all)
}

/// Removes them, and returns how many there were.
pub(crate) fn remove(dir: &Path) -> io::Result<u64> {
    let all = data_files(dir)?;
    all.iter().try_for_each(fs::remove_file)?;
    Ok(all.len() as u64)
}
