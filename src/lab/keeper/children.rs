use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill, killpg};
#[cfg(target_os = "linux")]
use nix::sys::wait::{Id, waitid};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getppid};

use crate::directory::processes;
use crate::guest::guests::SOCKET;
use crate::protocol::{Ending, News, NodeOrder, Start};

/// How long killed orphans may take to end.
const ORPHANS_END_TIMEOUT: Duration = Duration::from_secs(3);

/// The most bytes of a file that a guest can write: one that floods its log must not fill the disk.
const LARGEST_FILE: u64 = 256 << 20;

/// The processes that the keeper started and has not reaped yet. Dropping this kills and reaps them all.
#[derive(Debug, Default)]
pub(super) struct Children(BTreeMap<usize, Pid>);

impl Children {
    /// Starts a process in a process group of its own, and returns its id.
    pub(super) fn spawn(&mut self, spawn: &Start) -> io::Result<u32> {
        if self.0.contains_key(&spawn.id) {
            return Err(io::Error::other("it is running already"));
        }
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&spawn.log)?;
        let keeper = getpid();
        let mut command = Command::new(&spawn.program);
        command.args(&spawn.args).current_dir(&spawn.dir).process_group(0);
        command.envs(spawn.control.iter().flat_map(|control| control.environment()));
        match &spawn.talk {
            Some(socket) => {
                let stream = OwnedFd::from(UnixStream::connect(socket)?);
                command.stdin(stream.try_clone()?).stdout(stream).env(SOCKET, socket);
            }
            None => _ = command.stdin(Stdio::null()).stdout(log.try_clone()?),
        }
        command.stderr(log);
        let is_guest = spawn.talk.is_some();
        // SAFETY: the closure runs in the forked child before exec. It only makes the system calls prctl, getppid and setrlimit,
        // which are async-signal-safe, and neither allocates nor takes a lock: `Errno` and its `io::Error` hold a number.
        unsafe {
            command.pre_exec(move || {
                if is_guest {
                    setrlimit(Resource::RLIMIT_FSIZE, LARGEST_FILE, LARGEST_FILE)?;
                }
                die_with(keeper)
            });
        }
        let child = command.spawn()?;
        // A process id is a positive `pid_t`; `Child` only shows it as u32.
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        self.0.insert(spawn.id, pid);
        Ok(child.id())
    }

    /// Does this by a signal to the process and its own children (a node that writes a snapshot has one), because a host fails as one.
    pub(super) fn obey(&self, id: usize, order: NodeOrder) -> io::Result<()> {
        let pid = self.0.get(&id).ok_or_else(|| io::Error::other("it is not running"))?;
        let signal = match order {
            NodeOrder::Kill => Signal::SIGKILL,
            NodeOrder::ShutDown => Signal::SIGTERM,
            NodeOrder::Pause => Signal::SIGSTOP,
            NodeOrder::Continue => Signal::SIGCONT,
            NodeOrder::Leave | NodeOrder::Rejoin => {
                return Err(io::Error::other("only a container can leave its network"));
            }
        };
        // It is not reaped yet, so the id is still its own.
        Ok(killpg(*pid, signal)?)
    }

    /// What has happened to the processes since the last call.
    pub(super) fn changes(&mut self) -> Vec<(usize, News)> {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED | WaitPidFlag::WCONTINUED;
        let mut changes = Vec::new();
        self.0.retain(|&id, &mut pid| {
            loop {
                let news = match waitpid(pid, Some(flags)) {
                    Ok(WaitStatus::Stopped(..)) => News::Paused,
                    Ok(WaitStatus::Continued(_)) => News::Continued,
                    Ok(WaitStatus::Exited(_, code)) => News::Ended(Ending::Code(code)),
                    Ok(WaitStatus::Signaled(_, signal, _)) => News::Ended(Ending::Signal(signal as i32)),
                    Err(Errno::EINTR) => continue,
                    Ok(_) | Err(_) => return true,
                };
                let has_ended = matches!(news, News::Ended(_));
                changes.push((id, news));
                if has_ended {
                    return false;
                }
            }
        });
        self.reap_orphans();
        changes
    }

    /// Reaps orphans that have ended.
    fn reap_orphans(&self) {
        #[cfg(target_os = "linux")]
        while let Ok(status) = waitid(Id::All, WaitPidFlag::WNOHANG | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)
            && let Some(pid) = status.pid()
            // One of our own processes that has just ended is reported after its signal has come.
            && !self.0.values().any(|own| *own == pid)
            && waitpid(pid, Some(WaitPidFlag::WNOHANG)).is_ok()
        {}
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for pid in self.0.values() {
            let _ = killpg(*pid, Signal::SIGKILL);
        }
        for pid in self.0.values() {
            while waitpid(*pid, None) == Err(Errno::EINTR) {}
        }
        end_orphans();
    }
}

/// Makes this process the parent of all orphans of its children (Linux). Processes that leave their group or session, as
/// with `setsid` or daemons, can then be found and ended.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Kills and reaps all orphans: when one is killed, its own children become ours.
fn end_orphans() {
    #[cfg(target_os = "linux")]
    {
        let end = Instant::now() + ORPHANS_END_TIMEOUT;
        while Instant::now() < end {
            let is_child = |pid: &Pid| processes::stat(*pid).is_some_and(|(_, parent)| parent == getpid());
            for pid in processes::all().filter(is_child) {
                let _ = kill(pid, Signal::SIGKILL);
            }
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return,
                Ok(WaitStatus::StillAlive) => thread::sleep(Duration::from_millis(2)),
                _ => {}
            }
        }
    }
}

/// Has the kernel kill this process when the keeper ends (Linux; elsewhere only the keeper does that).
fn die_with(keeper: Pid) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    // If the keeper ended before that call, this process has another parent by now, and nothing would ever end it.
    if getppid() == keeper {
        Ok(())
    } else {
        Err(Errno::ESRCH.into())
    }
}
