use std::time::Duration;

use super::Time;

/// Renewals may be done early by this part of their interval, so that many are done at once.
const EARLY: u32 = 64;

/// But not earlier than this.
const EARLIEST: Duration = Duration::from_millis(16);

/// When a held lock is to be extended: every interval from its start on, or up to a 64th of the interval earlier
/// (16 ms at most), so that many locks are renewed together; the driver's timer adds its own delay. What was not
/// extended is tried again long before the next renewal would be due. After a pause there is nothing to catch up on.
#[derive(Debug, Clone, Copy)]
pub struct Renewal {
    interval: Duration,
    /// How long after an extension to see whether it worked.
    check: Duration,
    /// When the lock was last extended, or acquired.
    begun: Time,
    /// The end of the validity then; none if that is not to be compared.
    before: Option<Time>,
}

/// What is to be done for a renewal now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Ask the nodes that lost the key for it again.
    pub repair: bool,
    /// Extend the lock.
    pub extend: bool,
    /// When to come back.
    pub next: Time,
}

impl Renewal {
    /// Of a lock that was asked for at `start`, every `interval`, of nodes that may take `reply_timeout` for an answer.
    #[must_use]
    pub fn new(interval: Duration, reply_timeout: Duration, start: Time) -> Self {
        Self {
            interval,
            check: interval.min(reply_timeout.saturating_mul(2)),
            begun: start,
            before: None,
        }
    }

    /// When to come first.
    #[must_use]
    pub fn first(&self) -> Time {
        self.batched(self.begun + self.interval)
    }

    /// What is to be done at `now` for a lock that is valid until then; nothing ever again once it is lost.
    pub fn on_timeout(&mut self, valid_until: Option<Time>, now: Time) -> Option<Due> {
        let until = valid_until.filter(|until| *until > now)?;
        // The last extension has done it.
        let repair = self.before.take().is_some_and(|before| until > before);
        if repair {
            let next = self.begun + self.interval;
            if next > now + self.interval / EARLY {
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

    /// A little before `at`, so that other renewals of a like interval fall together with it.
    fn batched(&self, at: Time) -> Time {
        let millisecond = 1_000_000;
        let grain = (self.interval / EARLY).min(EARLIEST).as_millis();
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
        // A grain is a sixty-fourth of the interval.
        assert_eq!(renewal.first(), at(640));
        let due = renewal.on_timeout(Some(at(2000)), at(640)).unwrap();
        assert_eq!((due.repair, due.extend, due.next), (false, true, at(720)));
        let due = renewal.on_timeout(Some(at(2640)), at(720)).unwrap();
        assert_eq!((due.repair, due.extend, due.next), (true, false, at(1280)));
        let due = renewal.on_timeout(Some(at(2640)), at(1280)).unwrap();
        assert_eq!((due.repair, due.extend), (false, true));
    }

    #[test]
    fn what_was_not_extended_is_tried_again_soon_and_what_is_lost_never() {
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
