use std::collections::VecDeque;

use super::time::Time;

/// The callers of one app server that want the same key, first come, first served. The caller that has the permit may ask
/// for the key, and keeps the permit as long as the lock is held; meanwhile the others need not ask.
///
/// `W` is the driver's handle of a waiter.
#[derive(Debug, Clone)]
pub struct Line<W> {
    permit: u64,
    behind: VecDeque<(Time, W)>,
}

impl<W> Line<W> {
    /// A line of one caller, whose permit has this number.
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

    /// Whether the permit of this number is the present one. An older permit must not be passed on any more.
    #[must_use]
    pub const fn is_permit(&self, number: u64) -> bool {
        self.permit == number
    }

    /// Adds a waiter that has waited since `since`.
    pub fn enter(&mut self, since: Time, waiter: W) {
        self.behind.push_back((since, waiter));
    }

    /// Ends the present permit. Returns the waiter that gets the next permit, which has this number; `None` if nobody waits,
    /// which ends the line.
    pub fn pass_on(&mut self, number: u64) -> Option<W> {
        let (_, next) = self.behind.pop_front()?;
        self.permit = number;
        Some(next)
    }

    /// Since when the first waiter behind the present permit has waited. Waiters at the front that are gone are removed.
    pub fn front(&mut self, is_gone: impl Fn(&W) -> bool) -> Option<Time> {
        while self.behind.front().is_some_and(|(_, waiter)| is_gone(waiter)) {
            self.behind.pop_front();
        }
        self.behind.front().map(|(since, _)| *since)
    }

    /// The number of waiters behind the present permit, including those that are gone but not yet removed.
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
