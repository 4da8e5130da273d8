//! The file by which the library (`preload.c`) is steered, and in which it notes what it saw.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::directory::password::create_file;
use crate::error::LabError;
use lockstorm_data::model::Skew;

/// The library; empty where there is none.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));
/// The variable that names the file.
const FILE: &str = "LOCKSTORM_PRELOAD";
/// The variable by which the loader of programs learns of the library.
const PRELOAD: &str = "LD_PRELOAD";

/// Where things are in the file, and how long it is.
const MAGIC: [u32; 2] = [0x4b43_534c, 1];
const TURN: u64 = 8;
const LOADED: u64 = 12;
const SLOTS: u64 = 16;
const SLOT: usize = 24;
const RAW: u64 = 64;
const SHOWN: u64 = 72;
const READ: u64 = 80;
const SIZE: usize = 8192;

/// The library in a server or a client, and its file, which that reads while it is written here: numbers in the order of bytes of this
/// machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Control {
    path: PathBuf,
    file: PathBuf,
}

/// Whether servers can have it here.
pub(crate) const fn is_possible(containers: bool) -> bool {
    !containers && !LIBRARY.is_empty()
}

/// Puts the library into this directory, for all its servers.
pub(crate) fn install(dir: &Path) -> Result<PathBuf, LabError> {
    let path = dir.join("preload.so");
    // They separate the libraries of the variable, and can't be escaped.
    if path.to_string_lossy().contains([' ', ':']) {
        return Err(LabError::Other(format!(
            "faults of clocks and power need a TMPDIR without a space or a colon in its path: {}",
            dir.display()
        )));
    }
    create_file(&path, LIBRARY)?;
    Ok(path)
}

impl Control {
    /// How long a server may go on with the time that it read before: Valkey 9 keeps it for a millisecond.
    pub(super) const KEPT: Duration = Duration::from_millis(2);

    /// For a process whose clock is right, and of whose files nothing was synced yet; `file` is made.
    pub(crate) fn create(library: &Path, file: PathBuf) -> Result<Self, LabError> {
        let mut content: Vec<u8> = MAGIC.iter().flat_map(|word| word.to_ne_bytes()).collect();
        content.extend([0; 8]);
        content.extend(slot(Skew::NONE, 0));
        content.resize(SIZE, 0);
        create_file(&file, &content)?;
        Ok(Self {
            path: library.to_owned(),
            file,
        })
    }

    /// What the environment of its server must have.
    pub(crate) fn environment(&self) -> [(&'static str, OsString); 2] {
        let mut preload = self.path.clone().into_os_string();
        if let Some(others) = std::env::var_os(PRELOAD) {
            preload.push(":");
            preload.push(others);
        }
        [(PRELOAD, preload), (FILE, self.file.clone().into_os_string())]
    }

    /// The process that reads it; `None` if none does, since a program that is linked statically ignores the library.
    pub(crate) fn reader(&self) -> io::Result<Option<u32>> {
        let pid = word(&self.open()?, LOADED)?;
        Ok((pid != 0).then_some(pid))
    }

    /// Shifts its clock from now on.
    pub(crate) fn set(&self, skew: Skew) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
        let now = i64::try_from(now.as_nanos()).map_err(io::Error::other)?;
        let file = self.open()?;
        // Nobody reads the other slot before the turn is written, and the server reads the turn again after the slot.
        let turn = word(&file, TURN)?.wrapping_add(1);
        file.write_all_at(&slot(skew, now), SLOTS + u64::from(turn & 1) * SLOT as u64)?;
        file.write_all_at(&turn.to_ne_bytes(), TURN)
    }

    /// By how many microseconds the clock was ahead of ours when its process read it first since the last change, and when that was; `None`
    /// if it has not. If two threads were the first at once, it may be a little wrong.
    pub(crate) fn first_reading(&self) -> io::Result<Option<(i64, SystemTime)>> {
        let file = self.open()?;
        let turn = word(&file, TURN)?;
        let at = |place| {
            let mut number = [0; 8];
            file.read_exact_at(&mut number, place)?;
            Ok::<_, io::Error>(i64::from_ne_bytes(number))
        };
        let (raw, shown) = (at(RAW)?, at(SHOWN)?);
        let is_read = turn != 0 && word(&file, READ)? == turn && raw > 0;
        let ns = Duration::from_nanos(raw.unsigned_abs());
        Ok(is_read.then(|| ((shown - raw) / 1000, UNIX_EPOCH + ns)))
    }

    /// Has the next reading noted in place of the first one.
    pub(crate) fn note_again(&self) -> io::Result<()> {
        self.open()?.write_all_at(&[0; 4], READ)
    }

    /// Since when its clock is wrong; `None` if it is right.
    pub(crate) fn since(&self) -> io::Result<Option<SystemTime>> {
        let file = self.open()?;
        let mut raw = [0; 8];
        file.read_exact_at(&mut raw, SLOTS + u64::from(word(&file, TURN)? & 1) * SLOT as u64)?;
        let raw = u64::try_from(i64::from_ne_bytes(raw)).map_err(io::Error::other)?;
        Ok((raw != 0).then(|| UNIX_EPOCH + Duration::from_nanos(raw)))
    }

    pub(super) fn open(&self) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(nix::fcntl::OFlag::O_NOFOLLOW.bits())
            .open(&self.file)
    }
}

fn word(file: &File, at: u64) -> io::Result<u32> {
    let mut word = [0; 4];
    file.read_exact_at(&mut word, at)?;
    Ok(u32::from_ne_bytes(word))
}

/// `base_raw`, `base_shown` and `rate` of a clock that is shifted at this time, in nanoseconds.
fn slot(skew: Skew, now: i64) -> [u8; SLOT] {
    let [raw, shown] = match skew {
        Skew::NONE => [0, 0],
        _ => [now, now + skew.ahead_ms * 1_000_000],
    };
    let rate = i64::from(skew.rate_ppm) * 1000;
    let mut bytes = [0; SLOT];
    for (place, number) in bytes.chunks_exact_mut(8).zip([raw, shown, rate]) {
        place.copy_from_slice(&number.to_ne_bytes());
    }
    bytes
}
