use std::time::Duration;

/// The clock of a schedule: that of the run, without the time in which the schedule was held.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    /// Since when it stands still, by the clock of the run.
    held: Option<Duration>,
    /// How long it has stood still before.
    stood: Duration,
}

impl Clock {
    /// Makes it stand still from `now` on, or lets it go on.
    pub fn hold(&mut self, hold: bool, now: Duration) {
        if hold {
            self.held.get_or_insert(now);
        } else if let Some(since) = self.held.take() {
            self.stood += now.saturating_sub(since);
        }
    }

    pub const fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// What it shows at `now`.
    pub fn at(&self, now: Duration) -> Duration {
        self.held.map_or(now, |since| now.min(since)).saturating_sub(self.stood)
    }

    /// When it shows this, by the clock of the run; `None` while nobody knows.
    pub fn when(&self, time: Duration) -> Option<Duration> {
        (!self.is_held()).then(|| time.saturating_add(self.stood))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_still_while_it_is_held_and_is_late_by_that_much_afterwards() {
        let [two, five, nine, seven] = [2, 5, 9, 7].map(Duration::from_secs);
        let mut clock = Clock::default();
        assert_eq!((clock.at(five), clock.when(five)), (five, Some(five)));
        clock.hold(true, two);
        clock.hold(true, five);
        assert_eq!((clock.at(five), clock.when(five)), (two, None));
        clock.hold(false, nine);
        assert_eq!((clock.at(nine), clock.when(two)), (two, Some(nine)));
        clock.hold(false, nine);
        assert_eq!(clock.at(nine + five), seven);
    }
}
