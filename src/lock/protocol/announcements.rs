//! What an app server hears about a key that it waits for.

use std::{collections::BTreeMap, time::Duration};

use super::{NodeSet, PerNode, Time, quorum};

/// News that a lock was released, on enough nodes, waits this long for the other nodes, so that those who ask then get
/// the votes of all.
const STRAGGLERS: Duration = Duration::from_millis(1);

/// What was heard of others is forgotten after this time. They say it again more often than that.
const MEMORY: Duration = Duration::from_millis(300);

/// What is true for others still is not said again within this time.
const SAID_LATELY: Duration = Duration::from_millis(100);

/// Each app server that has waited longer is given this much, and a few round trips, to ask first.
const GRACE: Duration = Duration::from_millis(4);

/// The round trips in it.
const GRACE_ROUND_TRIPS: u32 = 4;

/// Stands for app servers of which it is only known that they are there.
const UNKNOWN: u64 = 0;

/// What an app server hears about one key: releases, and since when others wait. `R` tells releases apart.
///
/// Who has waited longest asks first after a release; the others give it a moment. Without that all would ask at once, take
/// nodes from each other, and the app server that released the lock, being nearest to the news, would mostly win. All of it
/// only saves time: safety does not depend on it.
#[derive(Debug, Clone)]
pub struct Announcements<R> {
    /// This app server among all others.
    id: u64,
    /// The nodes that tell us of releases.
    subscribed: NodeSet,
    /// The last release that each node told.
    released: PerNode<Option<R>>,
    /// Counts the reasons to ask again.
    changes: u64,
    /// When to ask for the last of them.
    ask_at: Time,
    others: BTreeMap<u64, Other>,
    said: Option<Said>,
    said_count: u64,
    /// How long nodes take to answer, smoothed.
    round_trip: Duration,
}

/// What one app server tells the others about those who wait for a key there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// Who says it.
    pub id: u64,
    /// The sender counts what it says, since it comes from several nodes.
    pub number: u64,
    /// How long the first of those waits who will ask for the lock; none if nobody waits any more. Not since when: no two
    /// clocks are compared.
    pub waited: Option<Duration>,
}

/// Another app server.
#[derive(Debug, Clone, Copy)]
struct Other {
    /// Since when it waits; none if it does not any more.
    since: Option<Time>,
    heard: Time,
    number: u64,
}

#[derive(Debug, Clone, Copy)]
struct Said {
    since: Option<Time>,
    at: Time,
}

impl<R: Clone + PartialEq> Announcements<R> {
    /// Of a key on so many nodes, at `now`; nothing is heard yet.
    #[must_use]
    pub fn new(id: u64, nodes: usize, now: Time) -> Self {
        Self {
            id,
            subscribed: NodeSet::EMPTY,
            released: PerNode::new(nodes),
            changes: 0,
            ask_at: now,
            others: BTreeMap::new(),
            said: None,
            said_count: 0,
            round_trip: Duration::ZERO,
        }
    }

    // What the nodes tell.

    /// This node tells of releases from now on, or does not any more. Whether that is a reason to ask again: what was released
    /// before is not told.
    pub fn on_subscribed(&mut self, node: usize, subscribed: bool, now: Time) -> bool {
        let before = self.subscribed.len();
        if subscribed {
            self.subscribed.insert(node);
        } else {
            self.subscribed.remove(node);
        }
        let changed = before < self.quorum() && self.subscribed.len() >= self.quorum();
        if changed {
            self.change(now);
        }
        changed
    }

    /// Whether this node tells us.
    #[must_use]
    pub const fn is_subscribed(&self, node: usize) -> bool {
        self.subscribed.contains(node)
    }

    /// This node tells of a release. Whether that is a reason to ask again, or to ask earlier.
    pub fn on_released(&mut self, node: usize, release: R, now: Time) -> bool {
        let before = self.told(&release);
        self.released[node] = Some(release.clone());
        let told = self.told(&release);
        if before < self.quorum() && told >= self.quorum() {
            self.change(now + STRAGGLERS);
        }
        if told >= self.quorum() && told >= self.subscribed.len() {
            self.ask_at = self.ask_at.min(now);
        }
        told > before && told >= self.quorum()
    }

    /// An app server, perhaps this one, says how long it has waited.
    pub fn on_waited(&mut self, waited: Waited, now: Time) {
        if waited.id == self.id {
            return;
        }
        let other = self.others.entry(waited.id).or_insert(Other {
            since: None,
            heard: now,
            number: 0,
        });
        if waited.number > other.number {
            *other = Other {
                since: waited.waited.map(|waited| now.before(waited)),
                heard: now,
                number: waited.number,
            };
        }
        self.others.remove(&UNKNOWN);
    }

    /// Somebody who is not known yet hears of this key, too.
    pub fn on_others(&mut self, now: Time) {
        self.others.entry(UNKNOWN).or_insert(Other {
            since: Some(now),
            heard: now,
            number: 0,
        });
    }

    /// An attempt took so long.
    pub fn on_round_trip(&mut self, time: Duration) {
        self.round_trip = if self.round_trip.is_zero() {
            time
        } else {
            (self.round_trip * 7 + time) / 8
        };
    }

    // What the one who has the permit in this app server needs.

    /// The number of reasons to ask again so far.
    #[must_use]
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// When to ask, at `now`: at `planned`, or when it is our turn after a change that came after that number of them. `since`:
    /// when the wait began that is compared with those of others. To be asked anew after each change: a release that is
    /// complete is worth asking for earlier.
    pub fn ask_at(&mut self, planned: Time, seen: u64, since: Time, now: Time) -> Time {
        if self.changes == seen {
            return planned;
        }
        self.ask_at + self.yield_delay(since, now)
    }

    /// How long to let others ask first who wait for longer than `since`.
    pub fn yield_delay(&mut self, since: Time, now: Time) -> Duration {
        self.forget(now);
        let earlier = self.others.iter().filter_map(|(id, other)| Some((other.since?, *id)));
        let ahead = earlier.filter(|other| *other < (since, self.id)).count();
        let each = GRACE + self.round_trip * GRACE_ROUND_TRIPS;
        each.saturating_mul(u32::try_from(ahead).unwrap_or(u32::MAX))
    }

    /// A jitter that keeps those apart who took nodes from each other, is a part of this.
    #[must_use]
    pub fn spread(&self) -> Duration {
        self.round_trip * 2 + Duration::from_millis(1)
    }

    /// What to tell the others at `now` about those who wait here, the first of them `since` then; none if it is known or
    /// nobody needs it. `asked`: an attempt of ours was refused, so somebody has the lock.
    pub fn announce(&mut self, since: Option<Time>, asked: bool, now: Time) -> Option<Waited> {
        self.forget(now);
        if !asked && self.others.is_empty() {
            return None;
        }
        let said = self
            .said
            .filter(|said| now - said.at < SAID_LATELY || said.since.is_none());
        if said.map_or(since.is_none(), |said| said.since == since) {
            return None;
        }
        self.said = Some(Said { since, at: now });
        self.said_count += 1;
        Some(Waited {
            id: self.id,
            number: self.said_count,
            waited: since.map(|since| now - since),
        })
    }

    fn quorum(&self) -> usize {
        quorum(self.released.len())
    }

    fn change(&mut self, ask_at: Time) {
        self.changes += 1;
        self.ask_at = ask_at;
    }

    /// The nodes that told of this release last.
    fn told(&self, release: &R) -> usize {
        self.released.iter().flatten().filter(|last| *last == release).count()
    }

    fn forget(&mut self, now: Time) {
        self.others.retain(|_, other| now - other.heard < MEMORY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: u64 = 7;
    const FAR: Time = Time::MAX;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn heard() -> Announcements<u32> {
        let mut heard = Announcements::new(OURS, 3, at(0));
        (0..3).for_each(|node| {
            heard.on_subscribed(node, true, at(0));
        });
        heard
    }

    fn says(id: u64, number: u64, waited: Option<u64>) -> Waited {
        let waited = waited.map(Duration::from_millis);
        Waited { id, number, waited }
    }

    fn ahead(heard: &mut Announcements<u32>, since: Time, now: Time) -> u128 {
        heard.yield_delay(since, now).as_millis() / GRACE.as_millis()
    }

    #[test]
    fn a_release_is_news_once_a_quorum_tells_it_and_at_once_when_all_do() {
        let mut heard = heard();
        let seen = heard.changes();
        assert!(!heard.on_released(0, 1, at(10)));
        assert!(!heard.on_released(1, 2, at(10)));
        assert!(!heard.on_released(0, 1, at(10)));
        assert_eq!((heard.changes(), heard.ask_at(FAR, seen, at(0), at(10))), (seen, FAR));
        assert!(heard.on_released(0, 2, at(10)));
        assert_eq!(heard.changes(), seen + 1);
        assert_eq!(heard.ask_at(FAR, seen, at(0), at(10)), at(10) + STRAGGLERS);
        assert!(heard.on_released(2, 2, at(10)));
        assert_eq!(
            (heard.changes(), heard.ask_at(FAR, seen, at(0), at(10))),
            (seen + 1, at(10))
        );
        // Nothing new: when it is time to ask anyway.
        assert_eq!(heard.ask_at(at(99), seen + 1, at(0), at(10)), at(99));
    }

    #[test]
    fn nodes_that_can_not_tell_are_not_waited_for_and_their_return_is_news() {
        let mut heard = heard();
        assert!(!heard.on_subscribed(2, false, at(1)));
        let seen = heard.changes();
        heard.on_released(0, 1, at(10));
        assert!(heard.on_released(1, 1, at(10)));
        assert_eq!(heard.ask_at(FAR, seen, at(0), at(10)), at(10));
        assert!(!heard.on_subscribed(1, false, at(11)) && heard.changes() == seen + 1);
        assert!(heard.on_subscribed(1, true, at(12)) && heard.changes() == seen + 2);
        assert!(!heard.on_subscribed(2, true, at(13)) && heard.changes() == seen + 2);
        assert!(heard.is_subscribed(2));
    }

    #[test]
    fn others_go_first_in_the_order_in_which_they_began_to_wait() {
        let mut heard = heard();
        let (since, now) = (at(1000), at(1050));
        assert_eq!(ahead(&mut heard, since, now), 0);
        for waited in [
            says(1, 1, Some(60)),
            says(1, 1, Some(60)),
            says(2, 1, Some(40)),
            says(OURS, 1, Some(90)),
        ] {
            heard.on_waited(waited, now);
        }
        assert_eq!(ahead(&mut heard, since, now), 1);
        assert_eq!(ahead(&mut heard, at(1020), now), 2);
        // An older word from a slower node does not count.
        heard.on_waited(says(1, 3, None), now);
        heard.on_waited(says(1, 2, Some(70)), now);
        assert_eq!(ahead(&mut heard, since, now), 0);
        heard.on_waited(says(1, 4, Some(100)), now);
        assert_eq!(ahead(&mut heard, since, now), 1);
        // Others are given a few of our round trips too.
        heard.on_round_trip(Duration::from_millis(2));
        assert_eq!(heard.yield_delay(since, now), Duration::from_millis(12));
        assert_eq!(heard.spread(), Duration::from_millis(5));
        assert_eq!(ahead(&mut heard, since, now + MEMORY), 0);
    }

    #[test]
    fn only_what_somebody_needs_is_announced_and_not_twice() {
        let mut heard = heard();
        let since = Some(at(1000));
        assert_eq!(heard.announce(since, false, at(1000)), None);
        assert_eq!(heard.announce(since, true, at(1000)), Some(says(OURS, 1, Some(0))));
        assert_eq!(heard.announce(since, true, at(1099)), None);
        assert_eq!(heard.announce(since, true, at(1100)), Some(says(OURS, 2, Some(100))));
        heard.on_others(at(1100));
        assert_eq!(heard.announce(None, false, at(1100)), Some(says(OURS, 3, None)));
        assert_eq!(heard.announce(None, false, at(1100)), None);
    }
}
