//! The kernel's timer as a file descriptor that tokio waits for.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::unix::AsyncFd;

/// An alarm that rings once each time it is set.
#[derive(Debug)]
pub(super) struct Alarm(AsyncFd<Fd>);

#[derive(Debug)]
struct Fd(TimerFd);

impl AsRawFd for Fd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        // SAFETY: `Fd` owns its descriptor, hands out the same one each time, and nobody can reach into it to close it: it is
        // private to this file and stays inside the `AsyncFd` until both are dropped.
        let registered = unsafe { AsyncFd::register(Fd(timer)) };
        Ok(Self(registered?))
    }

    /// Sets the alarm to ring after this time, replacing the time that it was set to.
    pub fn set(&self, after: Duration) {
        // Zero would disarm it.
        let after = TimeSpec::from_duration(after.max(Duration::from_nanos(1)));
        // It fails only for invalid times.
        let _ = self
            .0
            .get_ref()
            .0
            .set(Expiration::OneShot(after), TimerSetTimeFlags::empty());
    }

    /// Resolves when it rings.
    pub async fn rings(&self) -> io::Result<()> {
        loop {
            let mut ready = self.0.readable().await?;
            match ready.get_inner().0.wait() {
                Ok(()) => return Ok(()),
                // It was set again after it rang and before we read it.
                Err(Errno::EAGAIN) => ready.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
