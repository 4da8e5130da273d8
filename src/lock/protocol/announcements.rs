//! The announcements that an app server receives about a key that it waits for.

use std::collections::BTreeMap;
use std::time::Duration;

use super::node_set::NodeSet;
use super::per_node::PerNode;
use super::quorum::quorum;
use super::time::Time;

/// After enough nodes have announced a release, waiters wait this long for the other nodes' announcements, so that the next
/// attempt gets the votes of all nodes.
const STRAGGLER_WAIT: Duration = Duration::from_millis(1);

/// Another app server is forgotten when it has announced nothing for this long. It repeats its announcements more often than
/// that.
const FORGOTTEN_AFTER: Duration = Duration::from_millis(300);

/// An announcement that is still true is repeated after this time.
const REPEATED_AFTER: Duration = Duration::from_millis(100);

/// The head start of each app server that has waited longer, in addition to a few round trips.
const HEAD_START: Duration = Duration::from_millis(4);

/// The number of round trips in the head start.
const HEAD_START_ROUND_TRIPS: u32 = 4;

/// The most app servers whose head starts are added up: some of them may be gone without a word.
const MOST_AHEAD: usize = 4;

/// Stands for app servers of which we know only that they are subscribed.
const UNKNOWN_ID: u64 = 0;

/// The announcements that an app server receives about one key: releases, and how long other app servers have waited. `R`
/// identifies a release.
///
/// After a release, the app server that has waited longest asks first, and the others hold back for a moment. Otherwise all
/// would ask at once and split the nodes between them, and the app server that released the lock would mostly win, since it
/// knows of the release first. All of this only saves time: safety does not depend on it.
#[derive(Debug, Clone)]
pub struct Announcements<R> {
    /// Identifies this app server.
    id: u64,
    /// The nodes that we are subscribed to.
    subscribed: NodeSet,
    /// The last release that each node announced.
    released: PerNode<Option<R>>,
    /// The number of reasons to ask again so far.
    changes: u64,
    /// When to ask for the last of these reasons.
    ask_at: Time,
    others: BTreeMap<u64, Other>,
    announced: Option<Announced>,
    announced_count: u64,
    /// How long nodes take to answer, as a moving average.
    round_trip: Duration,
}

/// An app server's announcement of how long it has waited for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitAnnouncement {
    /// The app server that announces it.
    pub id: u64,
    /// Numbers the sender's announcements, since each arrives through several nodes.
    pub number: u64,
    /// How long the app server's first waiter has waited; `None` if nobody waits any more. It is a duration and not a time,
    /// so that no two clocks are compared.
    pub waited: Option<Duration>,
}

/// Another app server.
#[derive(Debug, Clone, Copy)]
struct Other {
    /// When it began to wait, by our clock; `None` if it does not wait any more.
    since: Option<Time>,
    updated: Time,
    number: u64,
    /// It had its head start, and has announced nothing since.
    silent: bool,
}

impl Other {
    /// Whether this app server, which has this identifier, goes before one that has waited since then.
    fn is_ahead(&self, id: u64, us: (Time, u64)) -> bool {
        !self.silent && self.since.is_some_and(|since| (since, id) < us)
    }
}

#[derive(Debug, Clone, Copy)]
struct Announced {
    since: Option<Time>,
    at: Time,
    /// The number of reasons to ask again so far.
    changes: u64,
}

impl<R: Clone + PartialEq> Announcements<R> {
    /// For a key on `nodes` nodes, at `now`; nothing has been announced yet.
    #[must_use]
    pub fn new(id: u64, nodes: usize, now: Time) -> Self {
        Self {
            id,
            subscribed: NodeSet::EMPTY,
            released: PerNode::new(nodes),
            changes: 0,
            ask_at: now,
            others: BTreeMap::new(),
            announced: None,
            announced_count: 0,
            round_trip: Duration::ZERO,
        }
    }

    // Messages from the nodes.

    /// We are now subscribed to this node, or not any more. Returns whether that is a reason to ask again, since an earlier
    /// release was not announced to us.
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

    /// Whether we are subscribed to this node.
    #[must_use]
    pub const fn is_subscribed(&self, node: usize) -> bool {
        self.subscribed.contains(node)
    }

    /// This node announces a release. Returns whether that is a reason to ask again, or to ask earlier.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a release is a number, or as cheap to clone"
    )]
    pub fn on_released(&mut self, node: usize, release: R, now: Time) -> bool {
        let before = self.announced_by(&release);
        self.released[node] = Some(release.clone());
        let announced_by = self.announced_by(&release);
        if before < self.quorum() && announced_by >= self.quorum() {
            self.change(now + STRAGGLER_WAIT);
        }
        if announced_by >= self.quorum() && announced_by >= self.subscribed.len() {
            self.ask_at = self.ask_at.min(now);
        }
        announced_by > before && announced_by >= self.quorum()
    }

    /// An app server, perhaps this one, announces how long it has waited.
    pub fn on_waited(&mut self, waited: WaitAnnouncement, now: Time) {
        if waited.id == self.id {
            return;
        }
        let other = self.others.entry(waited.id).or_insert(Other {
            since: None,
            updated: now,
            number: 0,
            silent: false,
        });
        if waited.number > other.number {
            *other = Other {
                since: waited.waited.map(|waited| now.before(waited)),
                updated: now,
                number: waited.number,
                silent: false,
            };
        }
        self.others.remove(&UNKNOWN_ID);
    }

    /// Another app server, not known yet, is subscribed to this key too.
    pub fn on_unknown_app_server(&mut self, now: Time) {
        self.others.entry(UNKNOWN_ID).or_insert(Other {
            since: Some(now),
            updated: now,
            number: 0,
            silent: false,
        });
    }

    /// Whether another app server has announced, a moment ago, that it waits or does not wait any more.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.others.keys().any(|id| *id != UNKNOWN_ID)
    }

    /// An attempt took `time`.
    pub fn on_round_trip(&mut self, time: Duration) {
        self.round_trip = if self.round_trip.is_zero() {
            time
        } else {
            (self.round_trip * 7 + time) / 8
        };
    }

    // For the caller that has the permit of this app server.

    /// The number of reasons to ask again so far.
    #[must_use]
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// When to ask, as of `now`: at `planned`, or, if there have been more than `seen` reasons to ask again, when it is our
    /// turn after the last of them. `since` is when our wait began, which is compared with those of others. Call this again
    /// after each change: once all nodes have announced a release, we ask earlier.
    pub fn ask_at(&mut self, planned: Time, seen: u64, since: Time, now: Time) -> Time {
        if self.changes == seen {
            return planned;
        }
        self.ask_at + self.yield_delay(since, now)
    }

    /// We ask now. If that is after a release, those that have waited since before `since` had their head start: they get no
    /// other one until they announce something. Returns the number of reasons to ask again so far.
    pub fn on_ask(&mut self, released: bool, since: Time) -> u64 {
        let us = (since, self.id);
        for (id, other) in self.others.iter_mut().filter(|_| released) {
            other.silent |= other.is_ahead(*id, us);
        }
        self.changes
    }

    /// How long to hold back for app servers that have waited since before `since`.
    pub fn yield_delay(&mut self, since: Time, now: Time) -> Duration {
        self.forget(now);
        let us = (since, self.id);
        let ahead = self
            .others
            .iter()
            .filter(|(id, other)| other.is_ahead(**id, us))
            .count();
        let ahead = ahead.min(MOST_AHEAD);
        let each = HEAD_START + self.round_trip * HEAD_START_ROUND_TRIPS;
        each.saturating_mul(u32::try_from(ahead).unwrap_or(u32::MAX))
    }

    /// The upper bound of the random delays that keep callers apart that split the nodes between them.
    #[must_use]
    pub fn spread(&self) -> Duration {
        self.round_trip * 2 + Duration::from_millis(1)
    }

    /// What to announce at `now` about the waiters of this app server, the first of which has waited since `since`, if
    /// anybody waits; `None` if it was announced already or nobody needs it. `asked`: an attempt of ours was refused, so somebody has the lock.
    pub fn announce(&mut self, since: Option<Time>, asked: bool, now: Time) -> Option<WaitAnnouncement> {
        self.forget(now);
        let last = self.announced.filter(|last| now - last.at < FORGOTTEN_AFTER);
        let known = last.and_then(|last| last.since);
        let fresh = last.is_some_and(|last| now - last.at < REPEATED_AFTER && !(asked && last.changes < self.changes));
        // Others wait for us until they hear that we do not wait any more.
        let nobody_needs_it = since.is_some() && !asked && self.others.is_empty();
        if nobody_needs_it || known == since && (since.is_none() || fresh) {
            return None;
        }
        self.announced = Some(Announced {
            since,
            at: now,
            changes: self.changes,
        });
        self.announced_count += 1;
        Some(WaitAnnouncement {
            id: self.id,
            number: self.announced_count,
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

    /// The number of nodes whose last announcement was this release.
    fn announced_by(&self, release: &R) -> usize {
        self.released.iter().flatten().filter(|last| *last == release).count()
    }

    fn forget(&mut self, now: Time) {
        self.others.retain(|_, other| now - other.updated < FORGOTTEN_AFTER);
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

    fn announcements() -> Announcements<u32> {
        let mut announcements = Announcements::new(OURS, 3, at(0));
        (0..3).for_each(|node| {
            announcements.on_subscribed(node, true, at(0));
        });
        announcements
    }

    fn says(id: u64, number: u64, waited: Option<u64>) -> WaitAnnouncement {
        let waited = waited.map(Duration::from_millis);
        WaitAnnouncement { id, number, waited }
    }

    fn ahead(announcements: &mut Announcements<u32>, since: Time, now: Time) -> u128 {
        announcements.yield_delay(since, now).as_millis() / HEAD_START.as_millis()
    }

    #[test]
    fn a_release_counts_once_a_quorum_announces_it_and_at_once_when_all_do() {
        let mut announcements = announcements();
        let seen = announcements.changes();
        assert!(!announcements.on_released(0, 1, at(10)));
        assert!(!announcements.on_released(1, 2, at(10)));
        assert!(!announcements.on_released(0, 1, at(10)));
        assert_eq!(
            (announcements.changes(), announcements.ask_at(FAR, seen, at(0), at(10))),
            (seen, FAR)
        );
        assert!(announcements.on_released(0, 2, at(10)));
        assert_eq!(announcements.changes(), seen + 1);
        assert_eq!(announcements.ask_at(FAR, seen, at(0), at(10)), at(10) + STRAGGLER_WAIT);
        assert!(announcements.on_released(2, 2, at(10)));
        assert_eq!(
            (announcements.changes(), announcements.ask_at(FAR, seen, at(0), at(10))),
            (seen + 1, at(10))
        );
        // Without a change, we ask at the planned time.
        assert_eq!(announcements.ask_at(at(99), seen + 1, at(0), at(10)), at(99));
    }

    #[test]
    fn unsubscribed_nodes_are_not_waited_for_and_a_new_subscription_counts() {
        let mut announcements = announcements();
        assert!(!announcements.on_subscribed(2, false, at(1)));
        let seen = announcements.changes();
        announcements.on_released(0, 1, at(10));
        assert!(announcements.on_released(1, 1, at(10)));
        assert_eq!(announcements.ask_at(FAR, seen, at(0), at(10)), at(10));
        assert!(!announcements.on_subscribed(1, false, at(11)) && announcements.changes() == seen + 1);
        assert!(announcements.on_subscribed(1, true, at(12)) && announcements.changes() == seen + 2);
        assert!(!announcements.on_subscribed(2, true, at(13)) && announcements.changes() == seen + 2);
        assert!(announcements.is_subscribed(2));
    }

    #[test]
    fn others_go_first_in_the_order_in_which_they_began_to_wait() {
        let mut announcements = announcements();
        let (since, now) = (at(1000), at(1050));
        assert_eq!(ahead(&mut announcements, since, now), 0);
        for waited in [
            says(1, 1, Some(60)),
            says(1, 1, Some(60)),
            says(2, 1, Some(40)),
            says(OURS, 1, Some(90)),
        ] {
            announcements.on_waited(waited, now);
        }
        assert_eq!(ahead(&mut announcements, since, now), 1);
        assert_eq!(ahead(&mut announcements, at(1020), now), 2);
        // An older announcement from a slower node does not count.
        announcements.on_waited(says(1, 3, None), now);
        announcements.on_waited(says(1, 2, Some(70)), now);
        assert_eq!(ahead(&mut announcements, since, now), 0);
        announcements.on_waited(says(1, 4, Some(100)), now);
        assert_eq!(ahead(&mut announcements, since, now), 1);
        // The head start includes a few of our round trips.
        announcements.on_round_trip(Duration::from_millis(2));
        assert_eq!(announcements.yield_delay(since, now), Duration::from_millis(12));
        assert_eq!(announcements.spread(), Duration::from_millis(5));
        assert_eq!(ahead(&mut announcements, since, now + FORGOTTEN_AFTER), 0);
    }

    #[test]
    fn only_what_somebody_needs_is_announced_and_not_twice() {
        let mut announcements = announcements();
        let since = Some(at(1000));
        assert_eq!(announcements.announce(since, false, at(1000)), None);
        assert_eq!(
            announcements.announce(since, true, at(1000)),
            Some(says(OURS, 1, Some(0)))
        );
        assert_eq!(announcements.announce(since, true, at(1099)), None);
        assert_eq!(
            announcements.announce(since, true, at(1100)),
            Some(says(OURS, 2, Some(100)))
        );
        announcements.on_unknown_app_server(at(1100));
        assert_eq!(announcements.announce(None, false, at(1100)), Some(says(OURS, 3, None)));
        assert_eq!(announcements.announce(None, false, at(1100)), None);
        // An attempt after a release is announced too, so that others see that we are still there.
        announcements.announce(since, true, at(1200)).unwrap();
        (0..3).for_each(|node| {
            announcements.on_released(node, 1, at(1201));
        });
        assert_eq!(announcements.announce(since, false, at(1202)), None);
        assert!(announcements.announce(since, true, at(1202)).is_some());
        // Whoever knows that we waited is told that we do not, no matter how long ago that was announced, unless it has
        // forgotten us.
        assert!(
            announcements
                .announce(None, false, at(1202) + FORGOTTEN_AFTER / 2)
                .is_some()
        );
        announcements.announce(since, true, at(1500)).unwrap();
        assert_eq!(announcements.announce(None, false, at(1500) + FORGOTTEN_AFTER), None);
    }

    #[test]
    fn whoever_is_gone_without_a_word_gets_one_head_start_and_not_a_long_one() {
        let mut announcements = announcements();
        let now = at(1000);
        let release = |announcements: &mut Announcements<u32>, number| {
            (0..3).for_each(|node| {
                announcements.on_released(node, number, now);
            });
        };
        for id in 100..130 {
            announcements.on_waited(says(id, 1, Some(500)), now);
        }
        let since = at(900);
        assert_eq!(ahead(&mut announcements, since, now), MOST_AHEAD as u128);
        // Asking without a release says nothing about them.
        let seen = announcements.on_ask(false, since);
        assert_eq!(ahead(&mut announcements, since, now), MOST_AHEAD as u128);
        release(&mut announcements, 1);
        assert!(announcements.on_ask(true, since) > seen);
        assert_eq!(ahead(&mut announcements, since, now), 0);
        announcements.on_waited(says(100, 2, Some(500)), now);
        assert_eq!(ahead(&mut announcements, since, now), 1);
    }
}
