use std::collections::VecDeque;

use super::clock::NEVER;

/// One direction of a connection: what was sent arrives later, and in order. Only its head is planned as an event.
#[derive(Debug)]
pub(super) struct Lane<T> {
    /// When each of them arrives.
    sent: VecDeque<(u64, T)>,
    /// When the last one arrives.
    last: u64,
    /// The time of its event, or [`NEVER`]; events of other times were overtaken.
    planned: u64,
}

impl<T> Lane<T> {
    pub(super) const fn new() -> Self {
        Self {
            sent: VecDeque::new(),
            last: 0,
            planned: NEVER,
        }
    }

    /// Sends something that arrives at `at`, or behind what was sent before. When to plan an event for it, if at all.
    pub(super) fn send(&mut self, at: u64, item: T) -> Option<u64> {
        self.last = self.last.max(at);
        self.sent.push_back((self.last, item));
        if self.planned != NEVER {
            return None;
        }
        self.planned = self.last;
        Some(self.last)
    }

    /// Its event has come. False if it was overtaken.
    pub(super) const fn fires(&mut self, now: u64) -> bool {
        let fires = self.planned == now;
        if fires {
            self.planned = NEVER;
        }
        fires
    }

    /// What arrives next, if it is there by now.
    pub(super) fn take(&mut self, now: u64) -> Option<T> {
        if self.sent.front()?.0 > now {
            return None;
        }
        self.sent.pop_front().map(|(_, item)| item)
    }

    /// When to plan the next event, if none is planned and something is under way.
    pub(super) fn plan(&mut self, now: u64) -> Option<u64> {
        if self.planned != NEVER {
            return None;
        }
        let at = self.sent.front()?.0.max(now);
        self.planned = at;
        Some(at)
    }

    /// Takes all that is under way, with the times of arrival.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u64, T)> {
        self.planned = NEVER;
        self.last = 0;
        self.sent.drain(..)
    }

    /// Loses all that is under way.
    pub(super) fn clear(&mut self) {
        drop(self.drain());
    }

    /// Loses the end of what is under way, all but the first `kept`.
    pub(super) fn truncate(&mut self, kept: usize) {
        self.sent.truncate(kept);
        if kept == 0 {
            self.planned = NEVER;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_arrives_in_order_and_one_event_is_planned_for_it() {
        let mut lane = Lane::new();
        assert_eq!(
            (lane.send(5, 'a'), lane.send(3, 'b'), lane.send(9, 'c')),
            (Some(5), None, None)
        );
        assert!(!lane.fires(4) && lane.fires(5) && !lane.fires(5));
        assert_eq!((lane.take(5), lane.take(5), lane.take(5)), (Some('a'), Some('b'), None));
        assert_eq!((lane.plan(5), lane.plan(5), lane.len()), (Some(9), None, 1));
        // A pause lets it arrive late.
        assert!(lane.fires(9));
        assert_eq!((lane.plan(20), lane.take(20)), (Some(20), Some('c')));
        assert_eq!(lane.len(), 0);
    }

    #[test]
    fn what_is_lost_leaves_no_event() {
        let mut lane = Lane::new();
        lane.send(5, 1);
        lane.send(6, 2);
        lane.truncate(1);
        assert_eq!(lane.drain().collect::<Vec<_>>(), [(5, 1)]);
        assert!(!lane.fires(5));
        assert_eq!(lane.send(4, 3), Some(4));
    }
}
