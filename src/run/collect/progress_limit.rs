use std::time::{Duration, Instant};

/// How long the run waits for something that may be slow or stuck: as long as it makes progress, but not for ever.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProgressLimit {
    pub began: Instant,
    /// When it last made progress, and how far it had come.
    moved: Instant,
    came: u64,
    /// How long nothing may move before the wait is over.
    pub quiet: Duration,
    until: Instant,
}

impl ProgressLimit {
    /// What makes no progress for this long is given up.
    pub const QUIET: Duration = Duration::from_secs(5);
    /// The longest wait, no matter how much progress there is.
    pub const MOST: Duration = Duration::from_secs(30);

    /// Starts to wait. What makes no progress for `quiet` is given up.
    pub fn new(now: Instant, quiet: Duration) -> Self {
        Self {
            began: now,
            moved: now,
            came: 0,
            quiet,
            until: now + Self::MOST,
        }
    }

    /// Notes how far it has come. Returns how long it has not moved.
    pub fn moved(&mut self, came: u64, now: Instant) -> Duration {
        if came != self.came {
            (self.came, self.moved) = (came, now);
        }
        now.saturating_duration_since(self.moved)
    }

    /// Cuts the wait short: from now on it takes at most `left`.
    pub fn hurry(&mut self, now: Instant, left: Duration) {
        self.until = self.until.min(now + left);
    }

    /// When the wait is over if nothing moves.
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
    fn the_wait_is_over_once_nothing_moves() {
        let start = Instant::now();
        let mut limit = ProgressLimit::new(start, 5 * SECOND);
        assert!(!limit.is_over(start + 4 * SECOND));
        assert_eq!(limit.moved(1, start + 4 * SECOND), Duration::ZERO);
        assert_eq!(limit.moved(1, start + 8 * SECOND), 4 * SECOND);
        assert!(!limit.is_over(start + 8 * SECOND));
        assert!(limit.is_over(start + 9 * SECOND), "it last moved at 4 s");
    }

    #[test]
    fn no_wait_lasts_for_ever() {
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
