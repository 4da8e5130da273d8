//! The time that the protocol is told: tokio's clock, counted from an origin of this process.

use std::{sync::OnceLock, time::Duration};

use tokio::time::{Instant, Sleep, Timeout};

use crate::protocol::Time;

/// Longer than anything is waited for, and short enough that no clock overflows.
pub(crate) const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The time of the first look at the clock, by whoever looks: a paused clock of a test may be a little behind.
const FIRST_LOOK: Time = Time::from_nanos(24 * 3600 * 1_000_000_000);

fn first_look() -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    *FIRST.get_or_init(|| std::time::Instant::now().into())
}

/// The time now. To be read after the reply that it is compared with.
pub(crate) fn now() -> Time {
    let (now, first) = (Instant::now(), first_look());
    match now.checked_duration_since(first) {
        Some(later) => FIRST_LOOK + later,
        None => FIRST_LOOK.before(first - now),
    }
}

fn instant(time: Time) -> Instant {
    // What lies before the first look is over.
    first_look() + (time - FIRST_LOOK).min(FOREVER * 2)
}

/// Sleeps until then.
pub(crate) fn sleep_until(time: Time) -> Sleep {
    tokio::time::sleep_until(instant(time))
}

/// Gives up then.
pub(crate) fn timeout_at<F: Future>(time: Time, future: F) -> Timeout<F> {
    tokio::time::timeout_at(instant(time), future)
}

/// Sets a timer anew.
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
