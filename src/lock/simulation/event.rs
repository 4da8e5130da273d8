use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::mem;

/// The kind of an event, and the position of what it concerns. Events are small and own nothing: whether one is still
/// relevant is checked when its time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    /// Messages arrive at the node of this socket.
    Requests(u32),
    /// Messages arrive at the app server of this socket.
    Replies(u32),
    /// The app server writes what it queued on this connection.
    Write(u32),
    /// This connection checks whether its node has owed an answer for too long.
    Alarm(u32),
    /// The app server connects this socket.
    Connect(u32),
    /// A worker's timer.
    Worker(u32),
    /// The app server removes channels that nobody uses.
    Sweep(u32),
    /// The app server passes on turns that nobody acts on.
    Watch(u32),
    /// A command of a connection that is gone arrives at its node.
    Stray(u32),
    /// The app server pauses by itself.
    Freeze(u32),
    /// One of these faults begins.
    Fault(u32),
    /// The order at this position is carried out.
    Order(u32),
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
    /// Numbers events, so that those of the same time happen in the order in which they were planned.
    number: u64,
    pub(super) kind: EventKind,
}

impl Event {
    /// The order of events as one number, which can be compared without a branch.
    const fn order(&self) -> u128 {
        (self.at as u128) << 64 | self.number as u128
    }
}

impl Ord for Event {
    /// Reversed, since the heap returns the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.order().cmp(&self.order())
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The number of buckets for near events, a power of two.
const BUCKETS: usize = 256;

const WORDS: usize = BUCKETS / 64;

/// Planned events, the next first: a ring of buckets for near events, which are nearly all in a busy world, and a heap for
/// the rest (a calendar queue, <https://doi.org/10.1145/63039.63045>, with buckets of a fixed width).
#[derive(Debug)]
pub(super) struct Events {
    /// The width of a bucket in nanoseconds, as a power of two.
    width: u32,
    /// The events within the next [`BUCKETS`] buckets, counted from that of the last event.
    ring: Vec<Vec<Event>>,
    /// A bit for each bucket of the ring that has an event.
    filled: [u64; WORDS],
    /// The events of the first bucket that has any, taken out of the ring and sorted, with the next event last.
    first: Vec<Event>,
    /// The number of that bucket, counted from the beginning of time.
    first_number: u64,
    /// When the last event happened.
    now: u64,
    far: BinaryHeap<Event>,
    planned: u64,
}

impl Events {
    /// No events yet. Most will be planned at most `near` nanoseconds ahead.
    pub(super) fn new(near: u64) -> Self {
        Self {
            width: near.div_ceil(BUCKETS as u64).next_power_of_two().trailing_zeros(),
            ring: (0..BUCKETS).map(|_| Vec::new()).collect(),
            filled: [0; WORDS],
            first: Vec::new(),
            first_number: 0,
            now: 0,
            far: BinaryHeap::new(),
            planned: 0,
        }
    }

    /// Plans an event, not earlier than the last one that happened.
    #[inline]
    pub(super) fn plan(&mut self, at: u64, kind: EventKind) {
        self.planned += 1;
        let number = self.planned;
        let event = Event { at, number, kind };
        let bucket = at >> self.width;
        if bucket - (self.now >> self.width) >= BUCKETS as u64 {
            self.far.push(event);
        } else if !self.first.is_empty() && bucket <= self.first_number {
            self.plan_first(event);
        } else {
            self.put(event);
        }
    }

    /// Plans an event that does not come after those of the first bucket.
    fn plan_first(&mut self, event: Event) {
        if event.at >> self.width == self.first_number {
            let later = self.first.partition_point(|other| other.order() > event.order());
            self.first.insert(later, event);
        } else {
            // That bucket is not the first one any more.
            for later in mem::take(&mut self.first) {
                self.put(later);
            }
            self.put(event);
        }
    }

    /// Puts an event into the ring.
    fn put(&mut self, event: Event) {
        let bucket = self.bucket_of(event.at);
        self.ring[bucket].push(event);
        self.filled[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Takes the next event, if it is not later than `until`.
    #[inline]
    pub(super) fn next(&mut self, until: u64) -> Option<Event> {
        if self.first.is_empty() {
            self.take_bucket();
        }
        let event = match (self.first.last(), self.far.peek()) {
            (Some(near), Some(far)) if far.order() < near.order() => return self.next_far(until),
            (Some(near), _) => *near,
            (None, _) => return self.next_far(until),
        };
        if event.at > until {
            return None;
        }
        self.now = event.at;
        self.first.pop();
        Some(event)
    }

    fn next_far(&mut self, until: u64) -> Option<Event> {
        let event = self.far.peek().filter(|event| event.at <= until).copied()?;
        self.now = event.at;
        self.far.pop()
    }

    /// Takes the first bucket that has an event out of the ring.
    fn take_bucket(&mut self) {
        let Some(bucket) = self.first_bucket() else { return };
        mem::swap(&mut self.first, &mut self.ring[bucket]);
        self.filled[bucket / 64] &= !(1 << (bucket % 64));
        self.first_number = self.first[0].at >> self.width;
        if self.first.len() > 1 {
            self.first.sort_unstable_by_key(|event| Reverse(event.order()));
        }
    }

    /// The first bucket of the ring with an event, searched around the ring from that of the last event.
    fn first_bucket(&self) -> Option<usize> {
        let start = self.bucket_of(self.now);
        let (word, bit) = (start / 64, start % 64);
        let ahead = self.filled[word] >> bit << bit;
        let found = |word: usize, bits: u64| word * 64 + bits.trailing_zeros() as usize;
        if ahead != 0 {
            return Some(found(word, ahead));
        }
        // The last word is the first one again, in which only bits before the start can be left.
        (1..=WORDS)
            .map(|ahead| (word + ahead) % WORDS)
            .find(|&word| self.filled[word] != 0)
            .map(|word| found(word, self.filled[word]))
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is below BUCKETS")]
    const fn bucket_of(&self, at: u64) -> usize {
        (at >> self.width) as usize % BUCKETS
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    #[test]
    fn events_come_in_the_order_of_their_times_and_then_of_their_planning() {
        let mut events = Events::new(1);
        for (at, worker) in [(5, 1), (3, 2), (5, 3), (9, 4)] {
            events.plan(at, EventKind::Worker(worker));
        }
        let order: Vec<_> = std::iter::from_fn(|| events.next(5)).map(|event| event.kind).collect();
        assert_eq!(order, [2, 1, 3].map(EventKind::Worker));
        assert_eq!(events.next(8), None);
        // An event that is planned while another happens comes in order too.
        events.plan(7, EventKind::Worker(5));
        assert_eq!(events.next(9).map(|event| event.kind), Some(EventKind::Worker(5)));
        events.plan(10, EventKind::Worker(6));
        events.plan(9, EventKind::Worker(7));
        let order: Vec<_> = std::iter::from_fn(|| events.next(u64::MAX))
            .map(|event| event.kind)
            .collect();
        assert_eq!(order, [4, 7, 6].map(EventKind::Worker));
        assert!(std::mem::size_of::<Event>() <= 24);
    }

    #[test]
    fn near_or_far_nothing_comes_out_of_order_or_is_lost() {
        for near in [0, 1, 1000, 1 << 20] {
            let mut events = Events::new(near);
            let mut random = Random::new(near);
            let (mut planned, mut happened, mut last) = (0, 0, (0, 0));
            while happened < 20_000 {
                for _ in 0..random.below(if planned < 15_000 { 5 } else { 2 }) {
                    // Now, soon, within the ring or beyond it.
                    let reach = [1, 10, 700, 200_000, 1 << 30][random.index(5)];
                    events.plan(last.0 + random.below(reach), EventKind::Fault(0));
                    planned += 1;
                }
                match events.next(last.0 + 1_000_000) {
                    Some(event) => {
                        assert!((event.at, event.number) > last);
                        last = (event.at, event.number);
                        happened += 1;
                    }
                    // As in a world that was run until a given time.
                    None => last.0 += 1_000_000,
                }
            }
            let left = std::iter::from_fn(|| events.next(u64::MAX)).count();
            assert_eq!(planned, happened + left);
        }
    }
}
