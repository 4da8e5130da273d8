use std::time::Duration;

use super::time::Time;

/// The loss is signalled this long before the validity ends, since timers fire up to 2 ms late.
const SIGNAL_LEAD: Duration = Duration::from_millis(2);

/// Until when a held lock may be relied on. A lock that is lost stays lost, whatever an answer that was under way says. The
/// lease knows nothing of nodes: the kind of lock determines the validity.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lease {
    until: Option<Time>,
    /// The latest end of validity that was ever known.
    latest: Option<Time>,
    /// Since when the lock is lost.
    lost: Option<Time>,
}

impl Lease {
    /// Sets, at `now`, the end of the validity; `None` if the lock is not valid any more. Returns whether the lock is lost
    /// just now, by this or by the passing of time: an answer that comes after the end of the validity says nothing about
    /// the time in between.
    pub fn on_validity(&mut self, until: Option<Time>, now: Time) -> bool {
        let over = self.until.filter(|until| *until <= now);
        self.until = until;
        self.latest = self.latest.max(until);
        let lost = over.or_else(|| self.is_over(now).then_some(now));
        let is_new = self.lost.is_none() && lost.is_some();
        self.lost = self.lost.or(lost);
        is_new
    }

    /// Until when the lock may be relied on; `None` once it is lost.
    #[must_use]
    pub fn valid_until(&self) -> Option<Time> {
        self.until.filter(|_| self.lost.is_none())
    }

    /// Until when the holder had reason to rely on the lock: the end of its validity, or when it was lost before that. Zero for a lock
    /// that never had any validity.
    #[must_use]
    pub fn relied_until(&self) -> Time {
        self.lost.or(self.until).unwrap_or_default()
    }

    /// How long the lock may still be relied on at `now`; zero once it is lost.
    #[must_use]
    pub fn validity(&self, now: Time) -> Duration {
        self.valid_until().map_or(Duration::ZERO, |until| until - now)
    }

    /// Whether the latest end of validity that was ever known is past at `now`, whether or not the lock is lost.
    #[must_use]
    pub fn overran(&self, now: Time) -> bool {
        self.latest.is_none_or(|until| until <= now)
    }

    /// Whether to signal the loss at `now`: `None` says that the lock is lost, which is final. Otherwise returns when to
    /// check again; check earlier if an answer brings the end of the validity nearer.
    pub fn on_timeout(&mut self, now: Time) -> Option<Time> {
        let signal = self.valid_until()?.before(SIGNAL_LEAD);
        if signal <= now {
            self.lost = Some(now.min(signal + SIGNAL_LEAD));
            return None;
        }
        Some(signal)
    }

    fn is_over(&self, now: Time) -> bool {
        self.until.is_none_or(|until| until <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_lock_that_is_lost_stays_lost() {
        let mut lease = Lease::default();
        assert!(!lease.on_validity(Some(at(100)), at(0)));
        assert!(!lease.on_validity(Some(at(150)), at(50)));
        assert_eq!(lease.validity(at(60)), Duration::from_millis(90));
        assert!(lease.on_validity(None, at(60)));
        assert!(!lease.on_validity(Some(at(300)), at(61)));
        assert_eq!(lease.relied_until(), at(60));
        assert_eq!((lease.valid_until(), lease.validity(at(61))), (None, Duration::ZERO));
        assert!(!lease.overran(at(299)) && lease.overran(at(300)));
    }

    #[test]
    fn an_answer_that_comes_when_the_validity_is_over_finds_the_lock_lost() {
        let mut lease = Lease::default();
        lease.on_validity(Some(at(100)), at(0));
        assert!(lease.on_validity(Some(at(200)), at(100)));
        assert_eq!((lease.valid_until(), lease.relied_until()), (None, at(100)));
    }

    #[test]
    fn the_loss_is_signalled_a_little_early_and_then_is_a_fact() {
        let mut lease = Lease::default();
        lease.on_validity(Some(at(100)), at(0));
        assert_eq!(lease.on_timeout(at(97)), Some(at(98)));
        assert_eq!(lease.relied_until(), at(100));
        assert_eq!(lease.on_timeout(at(98)), None);
        assert_eq!(lease.relied_until(), at(98));
        assert!(!lease.on_validity(Some(at(500)), at(99)));
        assert_eq!(lease.valid_until(), None);
        assert!(!lease.overran(at(99)));
    }
}
