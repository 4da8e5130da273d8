use std::collections::VecDeque;

use super::clock::NEVER;

/// One direction of a connection: messages arrive with a delay, and in order. Only the arrival of the first one is planned
/// as an event.
#[derive(Debug)]
pub(super) struct Lane<T> {
    /// The messages under way, with their times of arrival.
    sent: VecDeque<(u64, T)>,
    /// When the last message arrives.
    last: u64,
    /// The time of the planned event, or [`NEVER`]; events for other times are superseded.
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

    /// Sends a message that arrives at `at`, or behind those sent before. Returns when to plan an event for it, if one is
    /// needed.
    pub(super) fn send(&mut self, at: u64, item: T) -> Option<u64> {
        self.last = self.last.max(at);
        self.sent.push_back((self.last, item));
        if self.planned != NEVER {
            return None;
        }
        self.planned = self.last;
        Some(self.last)
    }

    /// An event has come. Returns false if it was superseded.
    pub(super) const fn fires(&mut self, now: u64) -> bool {
        let fires = self.planned == now;
        if fires {
            self.planned = NEVER;
        }
        fires
    }

    /// Takes the next message, if it has arrived by `now`.
    pub(super) fn take(&mut self, now: u64) -> Option<T> {
        if self.sent.front()?.0 > now {
            return None;
        }
        self.sent.pop_front().map(|(_, item)| item)
    }

    /// When to plan the next event, if none is planned and a message is under way.
    pub(super) fn plan(&mut self, now: u64) -> Option<u64> {
        if self.planned != NEVER {
            return None;
        }
        let at = self.sent.front()?.0.max(now);
        self.planned = at;
        Some(at)
    }

    /// Takes all messages under way, with their times of arrival.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u64, T)> {
        self.planned = NEVER;
        self.last = 0;
        self.sent.drain(..)
    }

    /// Loses all messages under way.
    pub(super) fn clear(&mut self) {
        drop(self.drain());
    }

    /// Loses all messages under way except for the first `kept`.
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
    fn messages_arrive_in_order_and_one_event_is_planned_for_them() {
        let mut lane = Lane::new();
        assert_eq!(
            (lane.send(5, 'a'), lane.send(3, 'b'), lane.send(9, 'c')),
            (Some(5), None, None)
        );
        assert!(!lane.fires(4) && lane.fires(5) && !lane.fires(5));
        assert_eq!((lane.take(5), lane.take(5), lane.take(5)), (Some('a'), Some('b'), None));
        assert_eq!((lane.plan(5), lane.plan(5), lane.len()), (Some(9), None, 1));
        // A pause makes it arrive late.
        assert!(lane.fires(9));
        assert_eq!((lane.plan(20), lane.take(20)), (Some(20), Some('c')));
        assert_eq!(lane.len(), 0);
    }

    #[test]
    fn lost_messages_leave_no_event() {
        let mut lane = Lane::new();
        lane.send(5, 1);
        lane.send(6, 2);
        lane.truncate(1);
        assert_eq!(lane.drain().collect::<Vec<_>>(), [(5, 1)]);
        assert!(!lane.fires(5));
        assert_eq!(lane.send(4, 3), Some(4));
    }
}
