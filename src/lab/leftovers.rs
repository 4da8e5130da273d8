//! Removes what labs that came to a bad end left behind.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use super::run_dir::{self, LOCK_FILE, NEW_PREFIX, PREFIX};

/// A keeper that needs longer than this from making its directory to locking it does not live any more.
const NEW_FOR: Duration = Duration::from_secs(60);
/// How long killed processes may take to go.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The run directories.
    pub directories: Vec<PathBuf>,
    /// The ids of the processes that still lived in them and were killed.
    pub processes: Vec<u32>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.directories.is_empty() && self.processes.is_empty() {
            return f.write_str("nothing was left behind");
        }
        let plural = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        write!(
            f,
            "removed {} and {}",
            plural(self.directories.len(), "run directory", "run directories"),
            plural(self.processes.len(), "process", "processes")
        )
    }
}

/// Removes this user's run directories whose lock file nobody holds, and kills the processes that still live in them.
/// Labs in use are not touched.
///
/// # Errors
/// When a directory can't be read or removed.
pub fn remove() -> io::Result<Report> {
    let mut report = Report::default();
    let entries = match fs::read_dir(run_dir::base()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(report),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) {
            remove_run(&entry.path(), &mut report)?;
        } else if name.starts_with(NEW_PREFIX) && is_old(&entry) {
            run_dir::remove(&entry.path())?;
            report.directories.push(entry.path());
        }
    }
    Ok(report)
}

/// Removes one run directory and its processes, unless its keeper lives.
pub(super) fn remove_run(dir: &Path, report: &mut Report) -> io::Result<()> {
    // Symbolic links and what belongs to others are not ours.
    match fs::symlink_metadata(dir) {
        Ok(meta) if meta.is_dir() && meta.uid() == geteuid().as_raw() => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    // Held until the directory is gone, so that of two that clean up only one does it. Without a lock file there is no
    // keeper either: it is made before the directory gets its name.
    let lock = File::open(dir.join(LOCK_FILE)).ok();
    match lock.as_ref().map(File::try_lock) {
        Some(Err(TryLockError::WouldBlock)) => return Ok(()),
        Some(Err(TryLockError::Error(error))) => return Err(error),
        Some(Ok(())) | None => {}
    }
    let keeper = fs::read_to_string(dir.join(LOCK_FILE))
        .ok()
        .and_then(|text| text.trim().parse().ok());
    if let (Some(keeper), Ok(dir)) = (keeper, dir.canonicalize()) {
        report.processes.extend(kill_all(&dir, Pid::from_raw(keeper))?);
    }
    run_dir::remove(dir)?;
    report.directories.push(dir.to_owned());
    Ok(())
}

/// Kills the processes that live in `dir`, and waits until they are gone.
fn kill_all(dir: &Path, session: Pid) -> io::Result<Vec<u32>> {
    let mut killed = Vec::new();
    let end = Instant::now() + PATIENCE;
    loop {
        let living = living_in(dir, session);
        if living.is_empty() {
            return Ok(killed);
        }
        if Instant::now() >= end {
            return Err(io::Error::other(format!("processes {living:?} do not go away")));
        }
        for pid in living {
            let _ = kill(pid, Signal::SIGKILL);
            // A process id is positive.
            let pid = pid.as_raw().unsigned_abs();
            if !killed.contains(&pid) {
                killed.push(pid);
            }
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The processes whose working directory is below `dir` and that belong to the session of its keeper: what the keeper
/// started, and not somebody's shell that happens to be there.
#[cfg(target_os = "linux")]
fn living_in(dir: &Path, session: Pid) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .filter(|(_, proc)| fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir)))
        .map(|(pid, _)| Pid::from_raw(pid))
        .filter(|&pid| nix::unistd::getsid(Some(pid)) == Ok(session))
        .collect()
}

/// Elsewhere there is no way to ask without further libraries; a keeper that ends in any way but SIGKILL leaves no process.
#[cfg(not(target_os = "linux"))]
fn living_in(_dir: &Path, _session: Pid) -> Vec<Pid> {
    Vec::new()
}

fn is_old(entry: &fs::DirEntry) -> bool {
    let modified = entry.metadata().and_then(|meta| meta.modified());
    modified.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > NEW_FOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_well() {
        let mut report = Report::default();
        assert_eq!(report.to_string(), "nothing was left behind");
        report.directories.push("/tmp/lockstorm-0/run-1".into());
        report.processes.extend([1, 2]);
        assert_eq!(report.to_string(), "removed 1 run directory and 2 processes");
    }
}
