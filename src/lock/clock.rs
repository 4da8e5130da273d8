//! The clock that drives the protocol: tokio's clock, and the time in which the machine was suspended, counted from an origin
//! within this process.
//!
//! Keys go on expiring while a machine is suspended, but tokio's clock and its timers stand still on Linux and macOS. Another
//! clock of these systems goes on, so each reading compares the two.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::{Instant, Sleep, Timeout};

use crate::protocol::Time;

/// Longer than any wait, and short enough that no clock overflows.
pub(crate) const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The protocol's time when this process first reads the clock. It is not zero, because the paused clock of a test may be a
/// little behind that reading.
const FIRST_READING: Time = Time::from_nanos(24 * 3600 * 1_000_000_000);

/// Shorter suspensions are not seen: two clocks can't be read at once.
const TOLERANCE: Duration = Duration::from_millis(1);

/// The two clocks are read again if that took longer, because this thread had to wait. The validity of a lock has a greater
/// margin.
const AT_ONCE: Duration = Duration::from_micros(100);

/// How often they are read again.
const MOST_READINGS: usize = 100;

/// Who waits for what must not be late looks at the clock this often, since its timer stands still during a suspension.
const GLANCE: Duration = Duration::from_millis(50);

/// How long the machine was suspended since the first reading, in nanoseconds, as far as it was noticed.
static SUSPENDED: AtomicU64 = AtomicU64::new(0);

/// When this process first read the clocks.
struct First {
    reading: Instant,
    machine: Option<Duration>,
}

fn first() -> &'static First {
    static FIRST: OnceLock<First> = OnceLock::new();
    FIRST.get_or_init(|| {
        let both = both();
        First {
            reading: both.map_or_else(std::time::Instant::now, |(awake, _)| awake).into(),
            machine: both.map(|(_, machine)| machine),
        }
    })
}

/// The system's clock that stands still while the machine is suspended, and the one that goes on, read at once; `None` if there is
/// only one, or if this thread had to wait between the readings each time.
fn both() -> Option<(std::time::Instant, Duration)> {
    for _ in 0..MOST_READINGS {
        let awake = std::time::Instant::now();
        let machine = machine()?;
        if awake.elapsed() <= AT_ONCE {
            return Some((awake, machine));
        }
    }
    None
}

/// The machine's clock that goes on while it is suspended; `None` if the system has none that we know.
fn machine() -> Option<Duration> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = nix::time::ClockId::CLOCK_BOOTTIME;
    #[cfg(target_vendor = "apple")]
    let clock = nix::time::ClockId::CLOCK_MONOTONIC;
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    return nix::time::clock_gettime(clock).ok().map(Duration::from);
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    None
}

/// How long the machine was suspended since the first reading, as far as it was noticed.
fn suspended() -> Duration {
    Duration::from_nanos(SUSPENDED.load(Relaxed))
}

/// The time now. Read it after the reply that it is compared with.
pub(crate) fn now() -> Time {
    let (first, now) = (first(), Instant::now());
    let time = time_of(now);
    if let (Some(then), Some(machine)) = (first.machine, machine()) {
        let expected = time - FIRST_READING;
        if machine.saturating_sub(then).abs_diff(expected) > TOLERANCE {
            look_closer(first.reading.into_std(), then);
            return time_of(Instant::now());
        }
    }
    LOOKED.set(Some(now));
    time
}

thread_local! {
    /// When this thread last looked for a suspension.
    static LOOKED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The time now, less a suspension since the last millisecond, which is not looked for. It costs half as much under load, and is
/// good enough where it is safe to be early.
pub(crate) fn lately() -> Time {
    let now = Instant::now();
    match LOOKED.get() {
        Some(looked) if now.saturating_duration_since(looked) < TOLERANCE => time_of(now),
        _ => self::now(),
    }
}

fn time_of(now: Instant) -> Time {
    let first = first().reading;
    let at = match now.checked_duration_since(first) {
        Some(later) => FIRST_READING + later,
        None => FIRST_READING.before(first - now),
    };
    at + suspended()
}

/// The clocks differ: the machine was suspended, or this thread had to wait between the readings, or a test has paused tokio's
/// clock. Only a suspension makes the system's own clocks differ.
#[cold]
fn look_closer(first: std::time::Instant, then: Duration) {
    let Some((awake, machine)) = both() else { return };
    let apart = machine.saturating_sub(then).saturating_sub(awake - first);
    if apart > suspended() + TOLERANCE {
        SUSPENDED.fetch_max(u64::try_from(apart.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }
}

/// What the clock of the machine that stands still while it is suspended shows at this time.
pub(crate) fn instant(time: Time) -> Instant {
    // Times before the first reading are past already.
    let awake = (time - FIRST_READING).saturating_sub(suspended());
    first().reading + awake.min(FOREVER * 2)
}

/// Sleeps until `time`, or until it is worth a look whether the machine was suspended meanwhile, whichever is earlier.
pub(crate) fn doze_until(time: Time) -> Sleep {
    match first().machine {
        Some(_) => sleep_until(time.min(now() + GLANCE)),
        None => sleep_until(time),
    }
}

/// Sleeps until `time`.
pub(crate) fn sleep_until(time: Time) -> Sleep {
    tokio::time::sleep_until(instant(time))
}

/// Gives `future` up at `time`.
pub(crate) fn timeout_at<F: Future>(time: Time, future: F) -> Timeout<F> {
    tokio::time::timeout_at(instant(time), future)
}

/// Sets the timer to `time`.
pub(crate) fn reset(sleep: std::pin::Pin<&mut Sleep>, time: Time) {
    sleep.reset(instant(time));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sleep_ends_at_its_time() {
        let until = now() + Duration::from_secs(3600);
        assert!(timeout_at(until, std::future::pending::<()>()).await.is_err());
        assert!(now() >= until && now() - until < Duration::from_millis(2));
        sleep_until(Time::ZERO).await;
        assert!(now() - until < Duration::from_millis(4));
        let mut timer = Box::pin(sleep_until(Time::MAX));
        reset(timer.as_mut(), until + Duration::from_secs(1));
        timer.await;
        assert!(now() >= until + Duration::from_secs(1));
    }
}
