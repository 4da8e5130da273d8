//! The clock that drives the protocol: tokio's clock, counted from an origin within this process.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::{Instant, Sleep, Timeout};

use crate::protocol::Time;

/// Longer than any wait, and short enough that no clock overflows.
pub(crate) const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The protocol's time when this process first reads the clock. It is not zero, because the paused clock of a test may be a
/// little behind that reading.
const FIRST_READING: Time = Time::from_nanos(24 * 3600 * 1_000_000_000);

fn first_reading() -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    *FIRST.get_or_init(|| std::time::Instant::now().into())
}

/// The time now. Read it after the reply that it is compared with.
pub(crate) fn now() -> Time {
    let (now, first) = (Instant::now(), first_reading());
    match now.checked_duration_since(first) {
        Some(later) => FIRST_READING + later,
        None => FIRST_READING.before(first - now),
    }
}

/// The same time on the clock of the machine.
pub(crate) fn instant(time: Time) -> Instant {
    // Times before the first reading are past already.
    first_reading() + (time - FIRST_READING).min(FOREVER * 2)
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
