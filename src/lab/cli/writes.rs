//! The file in a run directory with what was written to its nodes by hand.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

use crate::emit;
use crate::server::node_name::NodeName;
use crate::server::stats::FLUSHES;
use lockstorm_base::input;
use lockstorm_data::facts::Caveat;

/// Its name in the run directory.
const FILE: &str = "writes.jsonl";

/// A command by `lockstorm lab cli` that writes. Keys and values are not in it, since they may be secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManualWrite {
    /// The node that it was sent to.
    pub node: NodeName,
    /// The command, like `FLUSHALL` or `XGROUP CREATE`.
    pub command: String,
    /// How often it was sent in a row without waiting for answers, 1 or more.
    pub times: usize,
    /// How many keys it named; `None` if the node did not say, or it was sent several times.
    pub keys: Option<usize>,
    /// When it was sent, in microseconds of the machine's `CLOCK_MONOTONIC`.
    pub sent_us: i64,
    /// When the node had run it, by the same clock; `None` if it has not answered, and may have run it.
    pub done_us: Option<i64>,
}

impl ManualWrite {
    /// Whether the node has lost every key by it.
    pub fn deletes_all_keys(&self) -> bool {
        FLUSHES.iter().any(|flush| self.command.eq_ignore_ascii_case(flush))
    }

    /// What was done, in words.
    pub fn caveat(&self) -> Caveat {
        Caveat::ManualWrite {
            node: self.node.to_string(),
            command: self.command.clone(),
            times: self.times,
            keys: self.keys,
            is_answered: self.done_us.is_some(),
        }
    }
}

/// Adds it to the file of this run directory.
pub(super) fn note(run_dir: &Path, write: &ManualWrite) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    options.custom_flags(OFlag::O_NOFOLLOW.bits());
    let mut file = options.open(run_dir.join(FILE))?;
    // One call, so that lines of several sessions don't mix.
    file.write_all(&emit::line(write)?)
}

/// Reads that file as it grows.
#[derive(Debug)]
pub struct ManualWrites {
    path: PathBuf,
    read: u64,
}

impl ManualWrites {
    /// Those to the lab of this run directory, from the first one on.
    pub fn of(run_dir: &Path) -> Self {
        Self {
            path: run_dir.join(FILE),
            read: 0,
        }
    }

    /// Those that were added since the last call.
    pub fn take(&mut self) -> Vec<ManualWrite> {
        // There is no file before the first one.
        let text = input::open_own(&self.path).and_then(|file| self.rest(file));
        let text = text.unwrap_or_default();
        // A line that is just being written is read the next time.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.read += whole as u64;
        let lines = text[..whole].lines();
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn rest(&self, mut file: File) -> io::Result<String> {
        file.seek(SeekFrom::Start(self.read))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(text)
    }
}
