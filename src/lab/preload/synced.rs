//! What is left of a server's files after a loss of power: what was synced to disk. It is the worst that a disk may do: everything is lost that
//! nobody has waited for. That a file was created, renamed or removed counts as done at once.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::control::Control;

/// Where the table is in the file, and its entries.
const TABLE: u64 = 4096;
const ENTRIES: u64 = TABLE + 32;
const MOST: usize = 127;
const ENTRY: usize = 32;

/// A file, and how much of it was synced.
struct Entry {
    file: [u64; 3],
    synced: u64,
}

impl Control {
    /// Cuts the data files of the server, which has ended, to what was synced. Returns how many bytes were lost.
    pub(crate) fn lose_unsynced(&self, dir: &Path) -> io::Result<u64> {
        let synced = table(&self.open()?)?;
        let mut lost = 0;
        for path in data_files(dir)? {
            let file = OpenOptions::new().write(true).open(&path)?;
            let metadata = file.metadata()?;
            let is_it = |entry: &&Entry| entry.file == key(&metadata);
            let kept = synced.iter().filter(is_it).map(|entry| entry.synced).max().unwrap_or(0);
            if kept < metadata.len() {
                lost += metadata.len() - kept;
                file.set_len(kept)?;
            }
        }
        Ok(lost)
    }
}

/// Its snapshot, and the files of its append-only log.
fn data_files(dir: &Path) -> io::Result<Vec<std::path::PathBuf>> {
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

/// Device, inode, and time of birth in nanoseconds (0 if it is not known): inode numbers are used again.
fn key(of: &Metadata) -> [u64; 3] {
    let born = of.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    let born = born.and_then(|born| u64::try_from(born.as_nanos()).ok());
    [of.dev(), of.ino(), born.unwrap_or(0)]
}

fn table(file: &File) -> io::Result<Vec<Entry>> {
    let mut head = [0; 8];
    file.read_exact_at(&mut head, TABLE)?;
    let [count, broken] = [0, 4].map(|at| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    if broken != 0 {
        return Err(io::Error::other("not every sync of its files could be noted"));
    }
    let count = usize::try_from(count).unwrap_or(MOST).min(MOST);
    let mut bytes = vec![0; count * ENTRY];
    file.read_exact_at(&mut bytes, ENTRIES)?;
    let (numbers, _) = bytes.as_chunks();
    let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_ne_bytes(*number)).collect();
    let entry = |words: &[u64]| Entry {
        file: [words[0], words[1], words[2]],
        synced: words[3],
    };
    Ok(numbers.chunks_exact(4).map(entry).collect())
}
