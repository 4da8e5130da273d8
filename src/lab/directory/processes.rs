//! Processes that a crashed lab left: the kernel says which of them work in its directory (Linux).

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long killed processes may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Kills the processes that the keeper of `dir` started, waits until they are gone, and returns their ids.
pub(crate) fn kill_all(dir: &Path, keeper: Option<Pid>) -> io::Result<Vec<u32>> {
    let mut killed = Vec::new();
    let end = Instant::now() + END_TIMEOUT;
    loop {
        let living = living_in(dir, keeper);
        if living.is_empty() {
            return Ok(killed);
        }
        if Instant::now() >= end {
            return Err(io::Error::other(format!(
                "processes {living:?} in {} do not end",
                dir.display()
            )));
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

/// Whether a process has ended, reaped or not.
pub(crate) fn is_gone(pid: Pid) -> bool {
    kill(pid, None) == Err(Errno::ESRCH) || stat(pid).is_some_and(|(state, _)| matches!(state, 'Z' | 'X'))
}

/// The state of a process, and the id of its parent, as the kernel reports them (Linux).
pub(crate) fn stat(pid: Pid) -> Option<(char, Pid)> {
    // "PID (NAME) STATE PARENT …"; the name may contain anything. This file exists only on Linux.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (state, rest) = stat.rsplit_once(") ")?.1.split_once(' ')?;
    let parent = rest.split(' ').next()?.parse().ok()?;
    Some((state.chars().next()?, Pid::from_raw(parent)))
}

/// All processes of this machine.
#[cfg(target_os = "linux")]
pub(crate) fn all() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)))
}

/// Whether a process that a keeper started works in this directory.
pub(crate) fn is_inhabited(dir: &Path) -> bool {
    !living_in(dir, None).is_empty()
}

/// The processes whose working directory is below `dir`, and that are in the session of its keeper or write to a log
/// there. These are servers, even if they have left the session; a user's shell in that directory does neither.
#[cfg(target_os = "linux")]
fn living_in(dir: &Path, keeper: Option<Pid>) -> Vec<Pid> {
    let is_server = |pid: &Pid| {
        let below = |link: &str| fs::read_link(format!("/proc/{pid}/{link}")).is_ok_and(|path| path.starts_with(dir));
        let in_session = keeper.is_some() && nix::unistd::getsid(Some(*pid)).ok() == keeper;
        below("cwd") && (in_session || below("fd/1") || below("fd/2"))
    };
    all().filter(is_server).collect()
}

/// On other systems we can't find them without further libraries. But a keeper leaves processes only if it is killed by
/// SIGKILL.
#[cfg(not(target_os = "linux"))]
fn living_in(_dir: &Path, _keeper: Option<Pid>) -> Vec<Pid> {
    Vec::new()
}
