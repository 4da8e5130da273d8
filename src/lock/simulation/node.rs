use super::clock::Clock;
use super::units::short;

/// A lock node: keys that expire, and whether it runs.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) clock: Clock,
    pub(super) store: Store,
    pub(super) up: bool,
    pub(super) paused: bool,
    /// The app servers that are subscribed to each key, in ascending order.
    subscribers: Vec<Vec<u32>>,
}

impl Node {
    pub(super) fn new(clock: Clock, keys: usize) -> Self {
        Self {
            clock,
            store: Store::new(keys),
            up: true,
            paused: false,
            subscribers: vec![Vec::new(); keys],
        }
    }

    pub(super) const fn runs(&self) -> bool {
        self.up && !self.paused
    }

    pub(super) fn subscribe(&mut self, app: usize, key: usize, subscribed: bool) {
        let (subscribers, app) = (&mut self.subscribers[key], short(app));
        match (subscribers.binary_search(&app), subscribed) {
            (Err(place), true) => subscribers.insert(place, app),
            (Ok(place), false) => drop(subscribers.remove(place)),
            _ => {}
        }
    }

    /// The app servers that are subscribed to the key, in ascending order.
    pub(super) fn subscribers(&self, key: usize) -> &[u32] {
        &self.subscribers[key]
    }

    /// The subscriber connection of this app server broke.
    pub(super) fn unsubscribe_all(&mut self, app: usize) {
        for key in 0..self.subscribers.len() {
            self.subscribe(app, key, false);
        }
    }

    /// Whether anybody is subscribed to any key.
    pub(super) fn has_subscribers(&self) -> bool {
        self.subscribers.iter().any(|subscribers| !subscribers.is_empty())
    }
}

/// The keys of a node. Times are whole milliseconds of its own clock, as in Redis: a key still exists in the millisecond in
/// which it expires.
#[derive(Debug)]
pub(super) struct Store {
    keys: Vec<Key>,
}

/// A key; without a token it does not exist.
#[derive(Debug, Clone, Copy, Default)]
struct Key {
    token: u64,
    expires: u64,
}

/// Nobody's token.
const NONE: u64 = 0;

impl Store {
    fn new(keys: usize) -> Self {
        Self {
            keys: vec![Key::default(); keys],
        }
    }

    /// The token in the key, if the key exists.
    pub(super) fn token(&self, key: usize, now: u64) -> Option<u64> {
        let Key { token, expires } = self.keys[key];
        (token != NONE && now <= expires).then_some(token)
    }

    /// `SET key token NX PX ttl`.
    pub(super) fn set(&mut self, key: usize, token: u64, ttl: u64, now: u64) -> bool {
        let free = self.token(key, now).is_none();
        if free {
            self.keys[key] = Key {
                token,
                expires: now + ttl,
            };
        }
        free
    }

    /// `PEXPIRE key ttl` if it has the token.
    pub(super) fn extend(&mut self, key: usize, token: u64, ttl: u64, now: u64) -> bool {
        let ours = self.token(key, now) == Some(token);
        if ours {
            self.keys[key].expires = now + ttl;
        }
        ours
    }

    /// `DEL key` if it has the token.
    pub(super) fn delete(&mut self, key: usize, token: u64, now: u64) -> bool {
        let ours = self.token(key, now) == Some(token);
        if ours {
            self.keys[key] = Key::default();
        }
        ours
    }

    /// `PTTL key`; `None` if the key does not exist.
    pub(super) fn remaining(&self, key: usize, now: u64) -> Option<u64> {
        self.token(key, now).map(|_| self.keys[key].expires - now)
    }

    /// Loses all keys, and returns them: key, token, and when the key would have expired.
    pub(super) fn forget(&mut self, now: u64) -> Vec<(usize, u64, u64)> {
        let there = |key: usize| Some((key, self.token(key, now)?, self.keys[key].expires));
        let lost = (0..self.keys.len()).filter_map(there).collect();
        self.keys.fill(Key::default());
        lost
    }

    /// Keys that have expired don't exist again, even if the clock goes back.
    pub(super) fn drop_expired(&mut self, now: u64) {
        for key in &mut self.keys {
            if now > key.expires {
                *key = Key::default();
            }
        }
    }

    /// All keys that exist, with their tokens.
    pub(super) fn all(&self, now: u64) -> impl Iterator<Item = (usize, u64)> {
        (0..self.keys.len()).filter_map(move |key| Some((key, self.token(key, now)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_set_once_and_is_there_until_its_last_millisecond_is_over() {
        let mut store = Store::new(2);
        assert!(store.set(0, 7, 20, 100) && !store.set(0, 8, 20, 120) && store.set(1, 8, 20, 100));
        assert_eq!((store.remaining(0, 100), store.remaining(0, 120)), (Some(20), Some(0)));
        assert_eq!((store.remaining(0, 121), store.token(0, 121)), (None, None));
        assert!(store.set(0, 8, 20, 121));
        assert_eq!(store.all(121).collect::<Vec<_>>(), [(0, 8)]);
    }

    #[test]
    fn a_set_by_the_same_token_is_refused_too() {
        let mut store = Store::new(1);
        assert!(store.set(0, 7, 20, 100) && !store.set(0, 7, 90, 110));
        assert_eq!(store.remaining(0, 110), Some(10));
    }

    #[test]
    fn an_extension_gives_the_whole_time_again_and_creates_nothing() {
        let mut store = Store::new(1);
        assert!(!store.extend(0, 7, 20, 100) && store.set(0, 7, 20, 100));
        assert!(store.extend(0, 7, 20, 120) && !store.extend(0, 8, 90, 120));
        assert_eq!(store.remaining(0, 120), Some(20));
        assert!(!store.extend(0, 7, 20, 141));
        assert_eq!(store.token(0, 141), None);
    }

    #[test]
    fn only_its_token_deletes_a_key() {
        let mut store = Store::new(1);
        store.set(0, 7, 20, 100);
        assert!(!store.delete(0, 8, 100) && store.delete(0, 7, 100) && !store.delete(0, 7, 100));
        store.set(0, 7, 20, 100);
        assert!(!store.delete(0, 7, 121));
    }

    #[test]
    fn what_has_expired_stays_so_when_the_clock_goes_back() {
        let mut store = Store::new(2);
        store.set(0, 7, 20, 100);
        store.set(1, 8, 50, 100);
        store.drop_expired(121);
        assert_eq!(store.all(100).collect::<Vec<_>>(), [(1, 8)]);
    }

    #[test]
    fn forget_returns_all_keys_that_had_not_expired() {
        let mut store = Store::new(3);
        store.set(0, 7, 20, 100);
        store.set(2, 9, 50, 100);
        assert_eq!(store.forget(130), [(2, 9, 150)]);
        assert_eq!(store.all(130).count(), 0);
    }
}
