use std::time::Duration;

use super::attempt::Rules;
use super::time::Time;

/// Renewals may be early by this part of their interval, a 64th, so that many are done together.
const EARLY_PART: u32 = 64;

/// The most by which renewals may be early.
const MOST_EARLY: Duration = Duration::from_millis(16);

/// The least time between two checks of the same renewal.
const LEAST_CHECK: Duration = Duration::from_millis(1);

/// When a held lock is to be extended: every interval from its start on, or up to a 64th of the interval earlier (16 ms at
/// most), so that many locks are renewed together; the driver's timer adds its own delay. An extension that failed is tried
/// again long before the next renewal would be due, then after twice the time and so on, but never later than in half of the time
/// that is left: so the tries are few in an outage, and the last ones come close together. Nothing is extended as long as that
/// can't put off the end, since the lock's lifetime ends it. Renewals missed during a pause are not made up for.
#[derive(Debug, Clone, Copy)]
pub struct Renewal {
    interval: Duration,
    /// How long after an extension to check whether it worked.
    check: Duration,
    /// The same for the next extension, longer after each one that did not work.
    pause: Duration,
    /// When the lock was last extended, or acquired.
    begun: Time,
    /// The end of the validity at that time; `None` if there is nothing to compare with.
    before: Option<Time>,
    /// The end of the lock's lifetime.
    end: Time,
}

/// What a renewal has to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Ask the nodes that lost the key to set it again.
    pub repair: bool,
    /// Extend the lock.
    pub extend: bool,
    /// The last extension did not work.
    pub again: bool,
    /// When to come back.
    pub next: Time,
}

impl Renewal {
    /// The renewal, every `interval`, of a lock under these rules that was asked for at `start`.
    #[must_use]
    pub fn new(interval: Duration, rules: &Rules, start: Time) -> Self {
        let check = interval.min(rules.reply_timeout.saturating_mul(2)).max(LEAST_CHECK);
        Self {
            interval,
            check,
            pause: check,
            begun: start,
            before: None,
            end: rules.lifetime.map_or(Time::MAX, |lifetime| start + lifetime),
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
        // Whether the last extension worked.
        let tried = self.before.take();
        let repair = tried.is_some_and(|before| until > before);
        let again = tried.is_some() && !repair;
        let rest = |next| Due {
            repair,
            extend: false,
            again,
            next,
        };
        if repair {
            self.pause = self.check;
            let next = self.begun + self.interval;
            if next > now + self.interval / EARLY_PART {
                return Some(rest(self.batched(next).max(now + LEAST_CHECK)));
            }
        }
        if until >= self.end {
            // Keys may get lost yet, and then an extension of the others helps.
            return Some(rest(now + self.interval.max(LEAST_CHECK)));
        }
        (self.begun, self.before) = (now, Some(until));
        let pause = self.pause.min((until - now) / 2).max(self.check);
        self.pause = self.pause.saturating_mul(2).min(self.interval.max(self.check));
        Some(Due {
            repair,
            extend: true,
            again,
            next: now + pause,
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
    const RULES: Rules = Rules {
        ttl: Duration::from_secs(2),
        reply_timeout: Duration::from_millis(40),
        lifetime: None,
        repair: false,
    };

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_lock_is_extended_every_interval_and_repaired_when_that_worked() {
        let mut renewal = Renewal::new(INTERVAL, &RULES, at(5));
        // Times are rounded to a sixty-fourth of the interval.
        assert_eq!(renewal.first(), at(640));
        let due = renewal.on_timeout(Some(at(2000)), at(640)).unwrap();
        assert_eq!((due.repair, due.extend, due.next), (false, true, at(720)));
        let due = renewal.on_timeout(Some(at(2640)), at(720)).unwrap();
        assert_eq!((due.repair, due.extend, due.next), (true, false, at(1280)));
        let due = renewal.on_timeout(Some(at(2640)), at(1280)).unwrap();
        assert_eq!((due.repair, due.extend, due.again), (false, true, false));
    }

    #[test]
    fn a_failed_extension_is_tried_again_soon_and_a_lost_lock_never() {
        let mut renewal = Renewal::new(INTERVAL, &RULES, at(0));
        assert!(renewal.on_timeout(Some(at(2000)), at(640)).unwrap().extend);
        let again = renewal.on_timeout(Some(at(2000)), at(720)).unwrap();
        assert_eq!(
            (again.repair, again.extend, again.again, again.next),
            (false, true, true, at(880))
        );
        assert_eq!(renewal.on_timeout(Some(at(2000)), at(2000)), None);
        assert_eq!(renewal.on_timeout(None, at(800)), None);
    }

    #[test]
    fn after_a_pause_there_is_one_extension_and_not_one_for_each_interval_missed() {
        let mut renewal = Renewal::new(INTERVAL, &RULES, at(0));
        assert!(renewal.on_timeout(Some(at(9000)), at(5000)).unwrap().extend);
        let due = renewal.on_timeout(Some(at(9999)), at(5080)).unwrap();
        assert_eq!((due.extend, due.next), (false, at(5640)));
    }

    #[test]
    fn tries_are_few_in_an_outage_and_come_closer_together_towards_the_end() {
        let (until, mut now, mut tries) = (at(10_000), at(640), Vec::new());
        let mut renewal = Renewal::new(INTERVAL, &RULES, at(0));
        while let Some(due) = renewal.on_timeout(Some(until), now) {
            assert!(due.extend && !due.repair && due.next > now);
            tries.push(due.next - now);
            now = due.next;
        }
        let tries: Vec<_> = tries.iter().map(Duration::as_millis).collect();
        assert_eq!(tries[..4], [80, 160, 320, 640]);
        assert_eq!(tries[4..15], [640; 11]);
        assert_eq!(tries[15..], [560, 280, 140, 80, 80]);
        // Once it has worked, all is as before.
        let due = renewal.on_timeout(Some(at(12_000)), at(10_000)).unwrap();
        assert_eq!((due.repair, due.extend, due.next), (true, false, at(10_580)));
        let due = renewal.on_timeout(Some(at(12_000)), at(10_580)).unwrap();
        assert_eq!((due.extend, due.next), (true, at(10_660)));
    }

    #[test]
    fn what_the_lifetime_ends_is_not_extended_unless_a_key_is_lost() {
        let lifetime = Some(Duration::from_secs(3));
        let mut renewal = Renewal::new(INTERVAL, &Rules { lifetime, ..RULES }, at(0));
        assert!(renewal.on_timeout(Some(at(2000)), at(640)).unwrap().extend);
        assert!(renewal.on_timeout(Some(at(2640)), at(720)).unwrap().repair);
        assert!(renewal.on_timeout(Some(at(2640)), at(1280)).unwrap().extend);
        let due = renewal.on_timeout(Some(at(3000)), at(1360)).unwrap();
        assert_eq!((due.repair, due.extend, due.next), (true, false, at(1920)));
        let due = renewal.on_timeout(Some(at(3000)), at(1920)).unwrap();
        assert_eq!((due.extend, due.next), (false, at(2560)));
        assert!(renewal.on_timeout(Some(at(2640)), at(2560)).unwrap().extend);
    }

    #[test]
    fn checks_are_apart_however_short_the_time_to_reply() {
        let reply_timeout = Duration::from_micros(10);
        let mut renewal = Renewal::new(INTERVAL, &Rules { reply_timeout, ..RULES }, at(0));
        let due = renewal.on_timeout(Some(at(2000)), at(649)).unwrap();
        assert_eq!(due.next, at(650));
        let due = renewal.on_timeout(Some(at(2000)), at(650)).unwrap();
        assert_eq!(due.next, at(652));
    }
}
