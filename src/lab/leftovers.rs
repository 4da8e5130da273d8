//! Removes what crashed labs left behind.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::base_dir::BaseDir;
use super::docker;
use super::processes;
use super::run_dir::{self, PREFIX};

/// How long to wait for a process that a dead keeper had just forked. It lives for microseconds once it gets a core.
const FORKED: Duration = Duration::from_secs(2);

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The run directories.
    pub directories: Vec<PathBuf>,
    /// The ids of the processes that were still running in them, and were killed.
    pub processes: Vec<u32>,
    /// The number of containers.
    pub containers: usize,
    /// Run directories whose keeper is alive, which were left alone.
    pub running: Vec<PathBuf>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        if self.directories.is_empty() && self.processes.is_empty() && self.containers == 0 {
            f.write_str("no lab left anything behind")?;
        } else {
            let directories = plural(self.directories.len(), "run directory", "run directories");
            let processes = plural(self.processes.len(), "process", "processes");
            match self.containers {
                0 => write!(f, "removed {directories} and {processes}")?,
                some => write!(
                    f,
                    "removed {directories}, {processes} and {}",
                    plural(some, "container", "containers")
                )?,
            }
        }
        if self.running.is_empty() {
            return Ok(());
        }
        write!(
            f,
            "; {} running and {} left alone: {}",
            plural(self.running.len(), "lab is", "labs are"),
            if self.running.len() == 1 { "was" } else { "were" },
            self.running
                .iter()
                .map(|dir| dir.display().to_string())
                .collect::<Vec<_>>()
                .join(", ")
        )
    }
}

/// Removes this user's run directories whose lock nobody holds, and kills the processes that are still running in them.
/// Labs in use and everything of other users stay untouched.
///
/// # Errors
/// The base directory is not this user's own, or a run directory can't be removed; the others are removed all the same.
pub fn remove() -> io::Result<Report> {
    let mut report = Report::default();
    let Some(base) = BaseDir::open()? else {
        return Ok(report);
    };
    let mut first_error = None;
    for entry in base.dir.entries()? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(PREFIX)
            && let Err(error) = sweep(&base, &name, &mut report)
        {
            first_error.get_or_insert(error);
        }
    }
    // A keeper that was killed before it made its run directory leaves the base directory empty.
    base.tidy();
    first_error.map_or(Ok(report), Err)
}

/// The same, and removes containers whose run directory is gone as well, for example with all temporary files at a start of the
/// machine. This asks a Docker engine, if there is one.
///
/// # Errors
/// Those of [`remove`], and the engine's.
pub fn remove_all() -> io::Result<Report> {
    let mut report = remove()?;
    report.containers += docker::leftovers::remove_without_directory()?;
    Ok(report)
}

/// Removes one run directory and its processes, unless its keeper is alive.
pub(super) fn remove_run(dir: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Ok(());
    };
    match BaseDir::at(parent)? {
        Some(base) => sweep(&base, &name.to_string_lossy(), &mut Report::default()),
        None => Ok(()),
    }
}

fn sweep(base: &BaseDir, name: &str, report: &mut Report) -> io::Result<()> {
    // If this fails, it is not ours: it is gone by now, or a file, a link, or somebody else's.
    let Ok(run) = run_dir::open(&base.dir, name) else {
        return Ok(());
    };
    let path = base.path.join(name);
    let lock = match run_dir::open_lock(&run, &path) {
        // It has no lock file: its keeper got no further than creating it, or somebody is removing it. Then it is empty.
        // If it is not empty, it is not ours, and stays.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if base.dir.remove_dir(name).is_ok() {
                report.directories.push(path);
                base.tidy();
            }
            return Ok(());
        }
        opened => opened?,
    };
    if !is_free(&lock)? {
        report.running.push(path);
        return Ok(());
    }
    // The lock is held until the directory is gone, so only one process cleans it up.
    if lock.metadata()?.nlink() == 0 {
        return Ok(());
    }
    report.processes.extend(processes::kill_all(&path, keeper(&lock)?)?);
    // If the engine can't be reached, the directory stays, and with it what says that there are containers.
    report.containers += docker::leftovers::remove_of_run(&path)?;
    run_dir::remove(base, name)?;
    report.directories.push(path);
    Ok(())
}

/// Takes the lock of a run directory, unless its keeper or another process that cleans up has it.
///
/// A keeper that is killed while it starts a server may leave a forked process that has not become a server yet. It holds
/// the lock for a moment, until it finds that its keeper is gone, and ends.
fn is_free(lock: &File) -> io::Result<bool> {
    let end = Instant::now() + FORKED;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {}
        }
        if Instant::now() >= end || !keeper(lock)?.is_some_and(processes::is_gone) {
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The keeper that made the lock file, if it got as far as writing its id.
fn keeper(mut lock: &File) -> io::Result<Option<Pid>> {
    let mut text = String::new();
    lock.rewind()?;
    lock.read_to_string(&mut text)?;
    Ok(text.trim().parse().ok().map(Pid::from_raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_well() {
        let mut report = Report::default();
        assert_eq!(report.to_string(), "no lab left anything behind");
        report.directories.push("/tmp/lockstorm-0/run-1".into());
        report.processes.extend([1, 2]);
        assert_eq!(report.to_string(), "removed 1 run directory and 2 processes");
        report.containers = 1;
        assert_eq!(
            report.to_string(),
            "removed 1 run directory, 2 processes and 1 container"
        );
        report = Report::default();
        report.running.push("/tmp/lockstorm-0/run-1".into());
        assert_eq!(
            report.to_string(),
            "no lab left anything behind; 1 lab is running and was left alone: /tmp/lockstorm-0/run-1"
        );
    }
}
