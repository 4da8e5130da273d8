//! Removes what crashed labs left behind.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use nix::unistd::Pid;

use crate::directory::base_dir::{BaseDir, try_lock};
use crate::directory::processes;
pub use crate::directory::report::{Report, Unasked};
use crate::directory::run_dir::{self, PREFIX};
use crate::docker;

/// How long to wait for a process that a dead keeper had just forked. It lives for microseconds once it gets a core.
const FORKED: Duration = Duration::from_secs(2);

/// Removes this user's run directories whose lock nobody holds, and kills the processes that are still running in them.
/// Labs in use and everything of other users stay untouched.
///
/// # Errors
/// The base directory is not this user's own, or a run directory can't be removed; the others are removed all the same.
pub fn remove() -> io::Result<Report> {
    let mut report = Report::default();
    remove_directories(&mut report).map(|()| report)
}

/// Removes what [`remove`] does, and containers whose run directory can't be seen as well, for example because it has gone with
/// all temporary files at a start of the machine. A Docker engine is asked for them, if there is one. With `force` they are
/// removed even if their lab is alive.
///
/// # Errors
/// Those of [`remove`], and the engine's.
pub fn remove_all(force: bool) -> io::Result<Report> {
    let mut report = Report::default();
    let unseen = docker::leftovers::remove_without_directory(force);
    remove_directories(&mut report)?;
    let unseen = unseen?;
    report.containers += unseen.containers;
    report.running.extend(unseen.running);
    report.untold = unseen.untold;
    report.unasked = unseen.unasked;
    Ok(report)
}

fn remove_directories(report: &mut Report) -> io::Result<()> {
    let Some(base) = BaseDir::open()? else {
        return Ok(());
    };
    let mut first_error = None;
    for entry in base.dir.entries()? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(PREFIX)
            && let Err(error) = sweep(&base, &name, report)
        {
            first_error.get_or_insert(error);
        }
    }
    // A keeper that was killed before it made its run directory leaves the base directory empty.
    base.tidy();
    first_error.map_or(Ok(()), Err)
}

/// Removes one run directory and its processes, unless its keeper is alive.
pub(crate) fn remove_run(dir: &Path) -> io::Result<()> {
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
        // It has no lock file: its keeper got no further than creating it, or somebody is removing it. Then it is empty. A Docker
        // engine that did not see the directory of a lab has made one with an empty directory for each node. Anything else is
        // not ours, and stays.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            remove_empty_nodes(&run);
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

/// Removes the directories of nodes in a run directory that are empty, if there is nothing else.
fn remove_empty_nodes(run: &Dir) {
    let Ok(entries) = run.entries() else { return };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    let is_node = |name: &OsString| {
        name.to_str()
            .is_some_and(|name| name == "cache" || name.starts_with("host-"))
    };
    if names.iter().all(is_node) {
        for name in names {
            // This refuses whatever is not empty.
            let _ = run.remove_dir(name);
        }
    }
}

/// Takes the lock of a run directory, unless its keeper or another process that cleans up has it.
///
/// A keeper that is killed while it starts a server may leave a forked process that has not become a server yet. It holds
/// the lock for a moment, until it finds that its keeper is gone, and ends.
fn is_free(lock: &File) -> io::Result<bool> {
    let end = Instant::now() + FORKED;
    loop {
        if try_lock(lock)? {
            return Ok(true);
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
        report = Report::default();
        report.containers = 5;
        assert_eq!(report.to_string(), "removed 5 containers");
        report = Report::default();
        report.unasked = Some(Unasked::NotAllowed);
        assert!(
            report.doubt().is_none()
                && report
                    .to_string()
                    .starts_with("no lab left anything behind; the Docker engine")
        );
        report.unasked = Some(Unasked::Silent("no answer".to_owned()));
        assert!(report.doubt().is_some_and(|doubt| doubt.ends_with("no answer")));
        assert_eq!(report.to_string(), "nothing was removed");
    }
}
