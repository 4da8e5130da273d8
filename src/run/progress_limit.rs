use std::time::{Duration, Instant};

/// How long something is waited for that may get on slowly, or not at all: as long as it moves, but not for ever.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProgressLimit {
    began: Instant,
    /// When it last moved, and how far it had come.
    moved: Instant,
    came: u64,
    quiet: Duration,
    until: Instant,
}

impl ProgressLimit {
    /// Without progress for so long, what is under way is given up.
    pub const QUIET: Duration = Duration::from_secs(5);
    /// However much moves: so long and no longer.
    pub const MOST: Duration = Duration::from_secs(30);

    /// Begins to wait; what has not moved for `quiet` is waited for no more.
    pub fn new(now: Instant, quiet: Duration) -> Self {
        Self {
            began: now,
            moved: now,
            came: 0,
            quiet,
            until: now + Self::MOST,
        }
    }

    pub const fn began(&self) -> Instant {
        self.began
    }

    /// Notes how far it has come. Says for how long it has not moved.
    pub fn moved(&mut self, came: u64, now: Instant) -> Duration {
        if came != self.came {
            (self.came, self.moved) = (came, now);
        }
        now.saturating_duration_since(self.moved)
    }

    /// Whatever it does: from now on it has so long at most.
    pub fn hurry(&mut self, now: Instant, left: Duration) {
        self.until = self.until.min(now + left);
    }

    /// When it is over, unless it moves.
    pub fn until(&self) -> Instant {
        self.until.min(self.moved + self.quiet)
    }

    pub fn is_over(&self, now: Instant) -> bool {
        now >= self.until()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_moves_is_waited_for_and_what_does_not_is_not() {
        let start = Instant::now();
        let mut limit = ProgressLimit::new(start, 5 * SECOND);
        assert!(!limit.is_over(start + 4 * SECOND));
        assert_eq!(limit.moved(1, start + 4 * SECOND), Duration::ZERO);
        assert_eq!(limit.moved(1, start + 8 * SECOND), 4 * SECOND);
        assert!(!limit.is_over(start + 8 * SECOND));
        assert!(limit.is_over(start + 9 * SECOND), "it moved at 4 s last");
    }

    #[test]
    fn nothing_is_waited_for_for_ever() {
        let start = Instant::now();
        let mut limit = ProgressLimit::new(start, 5 * SECOND);
        for second in 1..30 {
            limit.moved(second.into(), start + SECOND * second);
            assert!(!limit.is_over(start + SECOND * second));
        }
        assert!(limit.is_over(start + ProgressLimit::MOST));
    }

    #[test]
    fn a_hurry_cuts_it_short_and_never_makes_it_longer() {
        let start = Instant::now();
        let mut limit = ProgressLimit::new(start, 5 * SECOND);
        limit.hurry(start + 2 * SECOND, SECOND);
        assert_eq!(limit.until(), start + 3 * SECOND);
        limit.hurry(start + 2 * SECOND, 20 * SECOND);
        assert_eq!(limit.until(), start + 3 * SECOND);
    }
}
