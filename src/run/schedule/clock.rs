use std::time::Duration;

/// The clock of a schedule: that of the run, without the time in which the schedule was held.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    /// What it showed at `since`, by the clock of the run.
    shows: Duration,
    since: Duration,
    /// Whether it stands still.
    is_held: bool,
}

impl Clock {
    /// Makes it stand still from `now` on, or lets it go on.
    pub fn hold(&mut self, hold: bool, now: Duration) {
        (self.shows, self.since, self.is_held) = (self.at(now), now, hold);
    }

    /// Turns it on, while it stands still.
    pub fn turn_on(&mut self, to: Duration) {
        if self.is_held {
            self.shows = self.shows.max(to);
        }
    }

    pub const fn is_held(&self) -> bool {
        self.is_held
    }

    /// What it shows at `now`.
    pub fn at(&self, now: Duration) -> Duration {
        match self.is_held {
            true => self.shows,
            false => self.shows + now.saturating_sub(self.since),
        }
    }

    /// When it shows this, by the clock of the run; `None` while nobody knows.
    pub fn when(&self, time: Duration) -> Option<Duration> {
        (!self.is_held).then(|| self.since.saturating_add(time.saturating_sub(self.shows)))
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
        clock.turn_on(nine);
        assert_eq!(clock.at(five), five, "it goes by itself");
        clock.hold(true, two);
        clock.hold(true, five);
        assert_eq!((clock.at(five), clock.when(five)), (two, None));
        clock.hold(false, nine);
        assert_eq!(
            (clock.at(nine), clock.when(five)),
            (two, Some(nine + two + Duration::from_secs(1)))
        );
        clock.hold(false, nine);
        assert_eq!(clock.at(nine + five), seven);
    }

    #[test]
    fn what_is_stepped_to_is_the_time_from_which_it_goes_on() {
        let [one, four, nine] = [1, 4, 9].map(Duration::from_secs);
        let mut clock = Clock::default();
        clock.hold(true, one);
        clock.turn_on(four);
        clock.turn_on(one);
        assert_eq!(clock.at(nine), four, "and never back");
        clock.hold(false, nine);
        assert_eq!(
            (clock.at(nine + one), clock.when(nine)),
            (four + one, Some(nine + Duration::from_secs(5)))
        );
    }
}
