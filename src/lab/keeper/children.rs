use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getppid};

use super::protocol::{Ended, Event, Kick, Spawn};

/// The processes that the keeper started and has not reaped yet. Dropping it kills and reaps them all.
#[derive(Debug, Default)]
pub(super) struct Children(BTreeMap<usize, Pid>);

impl Children {
    /// Starts a process in a process group of its own and returns its id.
    pub(super) fn spawn(&mut self, spawn: &Spawn) -> io::Result<u32> {
        if self.0.contains_key(&spawn.id) {
            return Err(io::Error::other("it runs already"));
        }
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&spawn.log)?;
        let keeper = getpid();
        let mut command = Command::new(&spawn.program);
        command
            .args(&spawn.args)
            .current_dir(&spawn.dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0);
        // SAFETY: the closure runs in the forked child before exec. It only makes the system calls prctl and getppid,
        // which are async-signal-safe, and neither allocates nor takes a lock: `Errno` and its `io::Error` hold a number.
        unsafe {
            command.pre_exec(move || die_with(keeper));
        }
        let child = command.spawn()?;
        // A process id is a positive `pid_t`; `Child` only shows it as u32.
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        self.0.insert(spawn.id, pid);
        Ok(child.id())
    }

    /// Signals the process and its own children (a node that writes a snapshot has one): a host fails as one.
    pub(super) fn signal(&self, id: usize, kick: Kick) -> io::Result<()> {
        let pid = self.0.get(&id).ok_or_else(|| io::Error::other("it does not run"))?;
        // Not reaped yet, so the id is still this process's own.
        Ok(killpg(*pid, kick.signal())?)
    }

    /// What happened to them since the last call.
    pub(super) fn changes(&mut self) -> Vec<Event> {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED | WaitPidFlag::WCONTINUED;
        let mut events = Vec::new();
        self.0.retain(|&id, &mut pid| {
            loop {
                match waitpid(pid, Some(flags)) {
                    Ok(WaitStatus::Stopped(..)) => events.push(Event::Stopped { id }),
                    Ok(WaitStatus::Continued(_)) => events.push(Event::Continued { id }),
                    Ok(WaitStatus::Exited(_, code)) => {
                        events.push(Event::Exited {
                            id,
                            how: Ended::Code(code),
                        });
                        return false;
                    }
                    Ok(WaitStatus::Signaled(_, signal, _)) => {
                        events.push(Event::Exited {
                            id,
                            how: Ended::Signal(signal as i32),
                        });
                        return false;
                    }
                    Err(Errno::EINTR) => {}
                    Ok(_) | Err(_) => return true,
                }
            }
        });
        events
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
    }
}

/// Has the kernel kill this process when the keeper ends (Linux; elsewhere only the keeper itself does).
fn die_with(keeper: Pid) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    // If the keeper ended before that call, this process has another parent by now and would live for ever.
    if getppid() == keeper {
        Ok(())
    } else {
        Err(Errno::ESRCH.into())
    }
}
