//! What an app server hears about a key that it waits for: releases, and since when others wait.
//!
//! Who has waited longest asks first after a release; the others give it a moment. Without that all would ask at once,
//! take nodes from each other, and the app server that released the lock, being nearest to the news, would mostly win.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::{announcement::Announcement, ballot::PerNode, tally::quorum, wire::Token};

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

/// What is known about one key. Shared by those of the app server who wait for it.
#[derive(Debug)]
pub(super) struct Channel {
    /// This app server among all others.
    id: u64,
    state: Mutex<State>,
    /// There is news; at most one waits for it, whose turn it is in this app server.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// The nodes that tell us of releases.
    subscribed: PerNode<bool>,
    /// The last released token that each node told.
    released: PerNode<Option<Token>>,
    news: News,
    others: HashMap<u64, Other>,
    said: Option<Said>,
    said_count: u64,
    /// How long nodes take to answer, smoothed.
    round_trip: Duration,
    used: Instant,
}

/// A reason to ask again.
#[derive(Debug, Clone, Copy)]
struct News {
    /// Counts them.
    number: u64,
    /// When to ask.
    at: Instant,
}

/// Another app server.
#[derive(Debug)]
struct Other {
    /// Since when it waits; none if it does not any more.
    since: Option<Instant>,
    heard: Instant,
    /// Announcements are numbered, since they come from several nodes.
    number: u64,
}

#[derive(Debug, Clone, Copy)]
struct Said {
    since: Option<Instant>,
    at: Instant,
}

impl Channel {
    pub(super) fn new(id: u64, nodes: usize) -> Self {
        let now = Instant::now();
        Self {
            id,
            state: Mutex::new(State {
                subscribed: (0..nodes).map(|_| false).collect(),
                released: (0..nodes).map(|_| None).collect(),
                news: News { number: 0, at: now },
                others: HashMap::new(),
                said: None,
                said_count: 0,
                round_trip: Duration::ZERO,
                used: now,
            }),
            changed: Notify::new(),
        }
    }

    // What the nodes tell.

    /// Node `index` tells of releases from now on, or does not any more.
    pub(super) fn subscribe(&self, index: usize, subscribed: bool) {
        let mut state = self.lock();
        let before = state.hearing();
        state.subscribed[index] = subscribed;
        // What was released before is not told: those who wait must look once more.
        if before < state.quorum() && state.hearing() >= state.quorum() {
            state.news(Instant::now());
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Whether node `index` tells us.
    pub(super) fn is_subscribed(&self, index: usize) -> bool {
        self.lock().subscribed[index]
    }

    /// Takes a message of node `index`.
    pub(super) fn hear(&self, index: usize, message: &str) {
        let mut state = self.lock();
        if let Some(announcement) = Announcement::read(message) {
            if announcement.id != self.id {
                state.note(&announcement);
            }
        } else if let Ok(token) = message.as_bytes().try_into()
            && state.release(index, token)
        {
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Somebody we do not know yet hears of this key, too.
    pub(super) fn note_others(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        state.others.entry(UNKNOWN).or_insert(Other {
            since: Some(now),
            heard: now,
            number: 0,
        });
    }

    // What the one whose turn it is in this app server needs.

    /// The number of news so far.
    pub(super) fn news(&self) -> u64 {
        self.lock().news.number
    }

    /// Waits for news after those of this number.
    pub(super) async fn has_news(&self, since: u64) {
        while self.news() == since {
            self.changed.notified().await;
        }
    }

    /// Waits until `at`, or until it is our turn after news that came after those of number `heard`; but not beyond
    /// `deadline`. `since`: when the wait began that is compared with those of others.
    pub(super) async fn turn(&self, since: Instant, mut at: Instant, heard: u64, deadline: Instant) {
        loop {
            let News { number, at: news } = self.lock().news;
            // They may still be put earlier, so they are read again each time.
            if number != heard {
                at = news + self.courtesy(since);
            }
            let at = at.min(deadline);
            if at <= Instant::now() {
                return;
            }
            tokio::select! {
                () = sleep_until(at) => return,
                () = self.changed.notified() => {}
            }
        }
    }

    /// How long to let others ask first who wait for longer than `since`.
    pub(super) fn courtesy(&self, since: Instant) -> Duration {
        let now = Instant::now();
        let mut state = self.lock();
        state.forget(now);
        let earlier = state.others.iter().filter_map(|(id, other)| Some((other.since?, *id)));
        let ahead = earlier.filter(|other| *other < (since, self.id)).count();
        let each = GRACE + state.round_trip * GRACE_ROUND_TRIPS;
        each * u32::try_from(ahead).unwrap_or(u32::MAX)
    }

    /// A jitter that keeps those apart who took nodes from each other, is a part of this.
    pub(super) fn spread(&self) -> Duration {
        self.lock().round_trip * 2 + Duration::from_millis(1)
    }

    /// An attempt took so long.
    pub(super) fn took(&self, time: Duration) {
        let mut state = self.lock();
        state.round_trip = if state.round_trip.is_zero() {
            time
        } else {
            (state.round_trip * 7 + time) / 8
        };
    }

    /// What to tell the others about those who wait here, the first of them `since` then; none if it is known or nobody
    /// needs it. `asked`: an attempt of ours was refused, so somebody has the lock.
    pub(super) fn announce(&self, since: Option<Instant>, asked: bool) -> Option<String> {
        let now = Instant::now();
        let mut state = self.lock();
        state.used = now;
        state.forget(now);
        if !asked && state.others.is_empty() {
            return None;
        }
        let said = state
            .said
            .filter(|said| now - said.at < SAID_LATELY || said.since.is_none());
        if said.map_or(since.is_none(), |said| said.since == since) {
            return None;
        }
        state.said = Some(Said { since, at: now });
        state.said_count += 1;
        let announcement = Announcement {
            id: self.id,
            number: state.said_count,
            waited: since.map(|since| now - since),
        };
        Some(announcement.write())
    }

    /// How long nobody has used it.
    pub(super) fn idle(&self) -> Duration {
        self.lock().used.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stands for app servers of which it is only known that they are there.
const UNKNOWN: u64 = 0;

impl State {
    fn quorum(&self) -> usize {
        quorum(self.subscribed.len())
    }

    fn hearing(&self) -> usize {
        self.subscribed.iter().filter(|subscribed| **subscribed).count()
    }

    fn news(&mut self, at: Instant) {
        self.news = News {
            number: self.news.number + 1,
            at,
        };
    }

    /// Node `index` released the lock of `token`. Whether that is news, or those are complete now.
    fn release(&mut self, index: usize, token: Token) -> bool {
        let before = self.tell(&token);
        self.released[index] = Some(token);
        let (tell, now) = (self.tell(&token), Instant::now());
        if before < self.quorum() && tell >= self.quorum() {
            self.news(now + STRAGGLERS);
        }
        if tell >= self.quorum() && tell >= self.hearing() {
            self.news.at = self.news.at.min(now);
        }
        tell > before && tell >= self.quorum()
    }

    /// The nodes that told of this release last.
    fn tell(&self, token: &Token) -> usize {
        self.released.iter().flatten().filter(|last| *last == token).count()
    }

    fn note(&mut self, announcement: &Announcement) {
        let now = Instant::now();
        let other = self.others.entry(announcement.id).or_insert(Other {
            since: None,
            heard: now,
            number: 0,
        });
        if announcement.number > other.number {
            *other = Other {
                since: announcement.waited.and_then(|waited| now.checked_sub(waited)),
                heard: now,
                number: announcement.number,
            };
        }
        self.others.remove(&UNKNOWN);
    }

    fn forget(&mut self, now: Instant) {
        self.others.retain(|_, other| now - other.heard < MEMORY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: u64 = 7;

    fn channel() -> Channel {
        let channel = Channel::new(OURS, 3);
        (0..3).for_each(|index| channel.subscribe(index, true));
        channel
    }

    fn token(number: u64) -> String {
        format!("{number:032x}")
    }

    fn says(id: u64, number: u64, waited: Option<u64>) -> String {
        let waited = waited.map(Duration::from_millis);
        Announcement { id, number, waited }.write()
    }

    fn ahead(channel: &Channel, since: Instant) -> u128 {
        channel.courtesy(since).as_millis() / GRACE.as_millis()
    }

    #[tokio::test(start_paused = true)]
    async fn a_release_is_news_once_a_quorum_tells_it_and_at_once_when_all_do() {
        let channel = channel();
        let before = channel.news();
        channel.hear(0, &token(1));
        channel.hear(1, &token(2));
        channel.hear(0, &token(1));
        assert_eq!(channel.news(), before);
        channel.hear(0, &token(2));
        assert_eq!(channel.news(), before + 1);
        let (start, far) = (Instant::now(), Instant::now() + Duration::from_secs(60));
        channel.turn(start, far, before, far).await;
        assert!(start.elapsed() >= STRAGGLERS);
        channel.hear(2, &token(2));
        let start = Instant::now();
        channel.turn(start, far, before, far).await;
        assert_eq!((start.elapsed(), channel.news()), (Duration::ZERO, before + 1));
        // Nothing new: until it is time to ask anyway, or the time is over.
        channel
            .turn(start, start + Duration::from_secs(1), before + 1, far)
            .await;
        assert_eq!(start.elapsed(), Duration::from_secs(1));
        channel
            .turn(start, far, before + 1, start + Duration::from_secs(2))
            .await;
        assert_eq!(start.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn nodes_that_can_not_tell_are_not_waited_for_and_their_return_is_news() {
        let channel = channel();
        channel.subscribe(2, false);
        let before = channel.news();
        channel.hear(0, &token(1));
        channel.hear(1, &token(1));
        let (start, far) = (Instant::now(), Instant::now() + Duration::from_secs(60));
        channel.turn(start, far, before, far).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        channel.subscribe(1, false);
        assert_eq!(channel.news(), before + 1);
        channel.subscribe(1, true);
        assert_eq!(channel.news(), before + 2);
        channel.subscribe(2, true);
        assert_eq!(channel.news(), before + 2);
    }

    #[tokio::test(start_paused = true)]
    async fn others_go_first_in_the_order_in_which_they_began_to_wait() {
        let channel = channel();
        let since = Instant::now();
        tokio::time::advance(Duration::from_millis(50)).await;
        assert_eq!(ahead(&channel, since), 0);
        channel.hear(0, &says(1, 1, Some(60)));
        channel.hear(1, &says(1, 1, Some(60)));
        channel.hear(0, &says(2, 1, Some(40)));
        channel.hear(0, &says(OURS, 1, Some(90)));
        assert_eq!(ahead(&channel, since), 1);
        assert_eq!(ahead(&channel, since + Duration::from_millis(20)), 2);
        // An older word from a slower node does not count.
        channel.hear(0, &says(1, 3, None));
        channel.hear(2, &says(1, 2, Some(70)));
        assert_eq!(ahead(&channel, since), 0);
        channel.hear(0, &says(1, 4, Some(100)));
        assert_eq!(ahead(&channel, since), 1);
        tokio::time::advance(MEMORY).await;
        assert_eq!(ahead(&channel, since), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_somebody_needs_is_announced_and_not_twice() {
        let channel = channel();
        let since = Some(Instant::now());
        assert_eq!(channel.announce(since, false), None);
        assert_eq!(channel.announce(since, true).unwrap(), says(OURS, 1, Some(0)));
        assert_eq!(channel.announce(since, true), None);
        tokio::time::advance(SAID_LATELY).await;
        assert_eq!(channel.announce(since, true).unwrap(), says(OURS, 2, Some(100)));
        channel.note_others();
        assert_eq!(channel.announce(None, false).unwrap(), says(OURS, 3, None));
        assert_eq!(channel.announce(None, false), None);
    }
}
