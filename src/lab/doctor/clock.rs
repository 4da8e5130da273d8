use std::time::{Duration, UNIX_EPOCH};

use lockstorm_data::metrics::Clock;
use lockstorm_lock::Reply;

/// What our clock says.
pub(super) fn since_epoch() -> Duration {
    UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// A server's clock by its reply to a TIME that was sent when ours said `asked`, and that took so long; `None` if it does not tell
/// the time.
pub(super) fn clock_of(reply: &Reply, asked: Duration, took: Duration) -> Option<Clock> {
    let Reply::Array(fields) = reply else { return None };
    let number = |at: usize| fields.get(at).and_then(Reply::number::<i64>);
    // From 1970 to the year 9999, or something else than a Redis answers.
    let seconds = number(0).filter(|seconds| (0..253_402_300_800).contains(seconds))?;
    let theirs = seconds * 1_000_000 + number(1).filter(|micros| (0..1_000_000).contains(micros))?;
    let within_us = micros(took / 2);
    Some(Clock {
        ahead_us: theirs.saturating_sub(micros(asked).saturating_add(within_us)),
        within_us,
    })
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_compared_in_the_middle_of_the_round_trip() {
        let time = |fields: &[&str]| Reply::Array(fields.iter().map(|text| Reply::Text((*text).to_owned())).collect());
        let (asked, took) = (Duration::from_secs(50), Duration::from_millis(10));
        let of = |reply: &Reply| clock_of(reply, asked, took).map(|clock| (clock.ahead_us, clock.within_us));
        assert_eq!(of(&time(&["50", "7000"])), Some((2_000, 5_000)));
        assert_eq!(of(&time(&["49", "999999"])), Some((-5_001, 5_000)));
        for other in [
            time(&["50"]),
            time(&["now", "0"]),
            time(&["-5", "0"]),
            time(&["9223372036854775807", "0"]),
            time(&["50", "1000000"]),
            Reply::Error("NOPERM".to_owned()),
            Reply::Nil,
        ] {
            assert_eq!(of(&other), None);
        }
    }
}
