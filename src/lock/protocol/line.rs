use std::collections::VecDeque;

use super::Time;

/// Those of one app server who want the same key, first come, first served. Whoever has the permit may ask for the key, and
/// keeps the permit as long as the lock is held: all others of the app server need not ask meanwhile.
///
/// `W` is how the driver reaches somebody who waits.
#[derive(Debug, Clone)]
pub struct Line<W> {
    permit: u64,
    behind: VecDeque<(Time, W)>,
}

impl<W> Line<W> {
    /// A line of one, whose permit has this number.
    #[must_use]
    pub const fn new(permit: u64) -> Self {
        Self {
            permit,
            behind: VecDeque::new(),
        }
    }

    /// The number of the present permit.
    #[must_use]
    pub const fn permit(&self) -> u64 {
        self.permit
    }

    /// Whether the permit of this number is the present one: an older one must not be passed on any more.
    #[must_use]
    pub const fn is_permit(&self, number: u64) -> bool {
        self.permit == number
    }

    /// Somebody comes who waits since then.
    pub fn enter(&mut self, since: Time, waiter: W) {
        self.behind.push_back((since, waiter));
    }

    /// The present permit has ended: who has the permit next, under this number. None if nobody waits; then the line has ended.
    pub fn pass_on(&mut self, number: u64) -> Option<W> {
        let (_, next) = self.behind.pop_front()?;
        self.permit = number;
        Some(next)
    }

    /// Since when the first of those waits who stand behind the one who has the permit. Those who are gone leave the line.
    pub fn front(&mut self, is_gone: impl Fn(&W) -> bool) -> Option<Time> {
        while self.behind.front().is_some_and(|(_, waiter)| is_gone(waiter)) {
            self.behind.pop_front();
        }
        self.behind.front().map(|(since, _)| *since)
    }

    /// How many stand behind the one who has the permit, those included who are gone and were not noticed.
    #[must_use]
    pub fn behind(&self) -> usize {
        self.behind.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_served_in_order_and_those_who_are_gone_leave_it() {
        let mut line = Line::new(1);
        (2..6).for_each(|waiter| line.enter(Time::from_nanos(waiter), waiter));
        assert_eq!(line.front(|waiter| *waiter < 4), Some(Time::from_nanos(4)));
        assert_eq!((line.behind(), line.is_permit(1)), (2, true));
        assert_eq!(
            (line.pass_on(2), line.is_permit(1), line.is_permit(2)),
            (Some(4), false, true)
        );
        assert_eq!((line.pass_on(3), line.pass_on(4)), (Some(5), None));
        assert_eq!(line.front(|_| false), None);
    }
}
