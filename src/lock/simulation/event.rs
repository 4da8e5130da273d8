use std::{cmp::Ordering, collections::BinaryHeap};

/// What is to happen to what. Small, and without an owner: what came of it meanwhile is looked up when its time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Commands reach the node of this connection.
    Requests(u32),
    /// Answers reach the app server of this connection.
    Replies(u32),
    /// The app server writes what it queued on this connection.
    Write(u32),
    /// This connection looks whether its node owes an answer for too long.
    Alarm(u32),
    /// The app server connects to the node.
    Connect(u32),
    /// A worker's timer.
    Worker(u32),
    /// Subscriptions reach the node of this feed.
    Wishes(u32),
    /// News reach the app server of this feed.
    News(u32),
    /// The app server connects for news.
    ConnectFeed(u32),
    /// The app server forgets channels that nobody uses.
    Sweep(u32),
    /// A command of a connection that is gone reaches its node.
    Stray(u32),
    /// Something breaks.
    Fault,
    /// Something that broke is over.
    Mend(Mend),
}

/// Something that broke is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mend {
    Resume(u32),
    Restart(u32),
    Thaw(u32),
    Revive(u32),
}

/// Something that happens at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// Nanoseconds of true time.
    pub(super) at: u64,
    /// Counts events, so that those of the same time happen in the order in which they were planned.
    number: u64,
    pub(super) what: What,
}

impl Event {
    /// The order of events as one number, which is compared without a branch: half of the time goes into such comparisons.
    const fn order(&self) -> u128 {
        (self.at as u128) << 64 | self.number as u128
    }
}

impl Ord for Event {
    /// The greatest is the next one, as the heap wants it.
    fn cmp(&self, other: &Self) -> Ordering {
        other.order().cmp(&self.order())
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn lt(&self, other: &Self) -> bool {
        other.order() < self.order()
    }

    fn le(&self, other: &Self) -> bool {
        other.order() <= self.order()
    }

    fn gt(&self, other: &Self) -> bool {
        other.order() > self.order()
    }

    fn ge(&self, other: &Self) -> bool {
        other.order() >= self.order()
    }
}

/// What is to happen, the next first.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Event>,
    planned: u64,
    /// The first one happens just now: the next event that is planned takes its place, which is quicker than to take it out and
    /// to put that one in.
    happens: bool,
}

impl Events {
    pub(super) fn plan(&mut self, at: u64, what: What) {
        self.planned += 1;
        let number = self.planned;
        let event = Event { at, number, what };
        if std::mem::take(&mut self.happens)
            && let Some(mut first) = self.heap.peek_mut()
        {
            *first = event;
            return;
        }
        self.heap.push(event);
    }

    /// The next one, if it is not later than `until`.
    pub(super) fn next(&mut self, until: u64) -> Option<Event> {
        if std::mem::take(&mut self.happens) {
            self.heap.pop();
        }
        let event = *self.heap.peek()?;
        self.happens = event.at <= until;
        self.happens.then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_their_times_and_then_of_their_planning() {
        let mut events = Events::default();
        for (at, worker) in [(5, 1), (3, 2), (5, 3), (9, 4)] {
            events.plan(at, What::Worker(worker));
        }
        let order: Vec<_> = std::iter::from_fn(|| events.next(5)).map(|event| event.what).collect();
        assert_eq!(order, [2, 1, 3].map(What::Worker));
        assert_eq!(events.next(8), None);
        // What is planned while one happens comes in its turn, too.
        events.plan(7, What::Worker(5));
        assert_eq!(events.next(9).map(|event| event.what), Some(What::Worker(5)));
        events.plan(10, What::Worker(6));
        events.plan(9, What::Worker(7));
        let order: Vec<_> = std::iter::from_fn(|| events.next(u64::MAX))
            .map(|event| event.what)
            .collect();
        assert_eq!(order, [4, 7, 6].map(What::Worker));
        assert!(std::mem::size_of::<Event>() <= 24);
    }
}
