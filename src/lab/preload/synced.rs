//! What is left of a server's files after a loss of power: what was synced to disk. It is the worst that a disk may do: everything is lost that
//! nobody has waited for. That a file was created, renamed or removed counts as done at once.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::control::Control;
use crate::server::data_files::data_files;

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
