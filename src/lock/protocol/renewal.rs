use std::time::Duration;

use super::time::Time;

/// Renewals may be early by this part of their interval, a 64th, so that many are done together.
const EARLY_PART: u32 = 64;

/// The most by which renewals may be early.
const MOST_EARLY: Duration = Duration::from_millis(16);

/// When a held lock is to be extended: every interval from its start on, or up to a 64th of the interval earlier (16 ms at
/// most), so that many locks are renewed together; the driver's timer adds its own delay. An extension that failed is tried
/// again long before the next renewal would be due. Renewals missed during a pause are not made up for.
#[derive(Debug, Clone, Copy)]
pub struct Renewal {
    interval: Duration,
    /// How long after an extension to check whether it worked.
    check: Duration,
    /// When the lock was last extended, or acquired.
    begun: Time,
    /// The end of the validity at that time; `None` if there is nothing to compare with.
    before: Option<Time>,
}

/// What a renewal has to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Ask the nodes that lost the key to set it again.
    pub repair: bool,
    /// Extend the lock.
    pub extend: bool,
    /// When to come back.
    pub next: Time,
}

impl Renewal {
    /// The renewal, every `interval`, of a lock that was asked for at `start`, on nodes that may take `reply_timeout` to
    /// answer.
    #[must_use]
    pub fn new(interval: Duration, reply_timeout: Duration, start: Time) -> Self {
        Self {
            interval,
            check: interval.min(reply_timeout.saturating_mul(2)),
            begun: start,
            before: None,
        }
    }

    /// When the first renewal is due.
    #[must_use]
    pub fn first(&self) -> Time {
        self.batched(self.begun + self.interval)
    }

    /// What to do at `now` for a lock that is valid until `valid_until`; `None`, now and for ever, once it is lost.
    pub fn on_timeout(&mut self, valid_until: Option<Time>, now: Time) -> Option<Due> {
        let until = valid_until.filter(|until| *until > now)?;
        // The last extension worked.
        let repair = self.before.take().is_some_and(|before| until > before);
        if repair {
            let next = self.begun + self.interval;
            if next > now + self.interval / EARLY_PART {
                let next = self.batched(next);
                return Some(Due {
                    repair,
                    extend: false,
                    next,
                });
            }
        }
        (self.begun, self.before) = (now, Some(until));
        Some(Due {
            repair,
            extend: true,
            next: self.batched(now + self.check),
        })
    }

    /// `at`, rounded down so that renewals with similar intervals fall together.
    fn batched(&self, at: Time) -> Time {
        let millisecond = 1_000_000;
        let grain = (self.interval / EARLY_PART).min(MOST_EARLY).as_millis();
        let grain = u64::try_from(grain)
            .unwrap_or(u64::MAX)
            .max(1)
            .saturating_mul(millisecond);
        Time::from_nanos(at.as_nanos() / grain * grain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(640);
    const REPLY: Duration = Duration::from_millis(40);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_lock_is_extended_every_interval_and_repaired_when_that_worked() {
        let mut renewal = Renewal::new(INTERVAL, REPLY, at(5));
        // Times are rounded to a sixty-fourth of the interval.
        assert_eq!(renewal.first(), at(640));
        let due = renewal.on_timeout(Some(at(2000)), at(640)).unwrap();
        assert_eq!((due.repair, due.extend, due.next), (false, true, at(720)));
        let due = renewal.on_timeout(Some(at(2640)), at(720)).unwrap();
        assert_eq!((due.repair, due.extend, due.next), (true, false, at(1280)));
        let due = renewal.on_timeout(Some(at(2640)), at(1280)).unwrap();
        assert_eq!((due.repair, due.extend), (false, true));
    }

    #[test]
    fn a_failed_extension_is_tried_again_soon_and_a_lost_lock_never() {
        let mut renewal = Renewal::new(INTERVAL, REPLY, at(0));
        assert!(renewal.on_timeout(Some(at(2000)), at(640)).unwrap().extend);
        let again = renewal.on_timeout(Some(at(2000)), at(720)).unwrap();
        assert_eq!((again.repair, again.extend, again.next), (false, true, at(800)));
        assert_eq!(renewal.on_timeout(Some(at(2000)), at(2000)), None);
        assert_eq!(renewal.on_timeout(None, at(800)), None);
    }

    #[test]
    fn after_a_pause_there_is_one_extension_and_not_one_for_each_interval_missed() {
        let mut renewal = Renewal::new(INTERVAL, REPLY, at(0));
        assert!(renewal.on_timeout(Some(at(9000)), at(5000)).unwrap().extend);
        let due = renewal.on_timeout(Some(at(9999)), at(5080)).unwrap();
        assert_eq!((due.extend, due.next), (false, at(5640)));
    }
}
