//! Granted locks, by when they were asked for and by the server that granted them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::SocketAddr;

/// The width of the slots in which grants are counted, in microseconds.
const SLOT_US: i64 = 10_000;

/// How many locks were asked for in each slot of 10 ms and granted, and when the first of them was granted. Times are
/// microseconds from second 0.
///
/// A grant counts from when its successful attempt was *asked*: a reply to what was asked before a fault may still come after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants(BTreeMap<(i64, Option<SocketAddr>), Granted>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Granted {
    count: u64,
    first: i64,
}

impl Grants {
    /// Counts a lock that was asked for and granted at these times. `by` is the server that granted it, if that matters.
    pub fn count(&mut self, asked: i64, granted: i64, by: Option<SocketAddr>) {
        let one = Granted {
            count: 1,
            first: granted,
        };
        self.put((asked.div_euclid(SLOT_US), by), one);
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        for (slot, granted) in &other.0 {
            self.put(*slot, *granted);
        }
    }

    /// Removes all grants that were asked for before this time, to within a slot, and returns them.
    #[must_use]
    pub fn split_before(&mut self, time: i64) -> Self {
        let later = self.0.split_off(&(time.div_euclid(SLOT_US), None));
        Self(std::mem::replace(&mut self.0, later))
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// When the first lock was granted that was asked for after this time. What was asked for in the same slot does not count,
    /// since it may have been before, so the result is at most 10 ms too late.
    #[must_use]
    pub fn first_asked_after(&self, time: i64) -> Option<i64> {
        let later = self.0.range((time.div_euclid(SLOT_US) + 1, None)..);
        later.map(|(_, granted)| granted.first).min()
    }

    /// How many locks were asked for after `time`, not in its slot, and granted by these servers.
    #[must_use]
    pub fn granted_after(&self, time: i64, servers: &[SocketAddr]) -> u64 {
        let later = self.0.range((time.div_euclid(SLOT_US).saturating_add(1), None)..);
        let by_them = later.filter(|((_, by), _)| by.is_some_and(|by| servers.contains(&by)));
        by_them.map(|(_, granted)| granted.count).sum()
    }

    /// How many locks each of these servers has granted that were asked for after its time, not in its slot; all together.
    #[must_use]
    pub fn granted_by(&self, servers: &BTreeMap<SocketAddr, i64>) -> u64 {
        let Some(first) = servers.values().min() else { return 0 };
        let later = self.0.range((first.div_euclid(SLOT_US).saturating_add(1), None)..);
        let by_them = later.filter(|((slot, by), _)| {
            let since = by.as_ref().and_then(|by| servers.get(by));
            since.is_some_and(|since| *slot > since.div_euclid(SLOT_US))
        });
        by_them.map(|(_, granted)| granted.count).sum()
    }

    fn put(&mut self, slot: (i64, Option<SocketAddr>), new: Granted) {
        match self.0.entry(slot) {
            Entry::Vacant(vacant) => {
                vacant.insert(new);
            }
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.count += new.count;
                known.first = known.first.min(new.first);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn what_was_asked_before_does_not_end_an_outage() {
        let mut grants = Grants::default();
        // Asked before 1 s, although granted after it.
        grants.count(995_000, 1_200_000, None);
        assert_eq!(grants.first_asked_after(1_000_000), None);
        grants.count(1_500_000, 1_900_000, None);
        grants.count(1_700_000, 1_800_000, None);
        assert_eq!(grants.first_asked_after(1_000_000), Some(1_800_000));
        assert_eq!(grants.first_asked_after(-5), Some(1_200_000));
    }

    #[test]
    fn grants_are_counted_by_server_and_time() {
        let (old, new) = (server(1), server(2));
        let mut grants = Grants::default();
        let mut more = Grants::default();
        for at in [-20_000, 100_000, 200_000] {
            grants.count(at, at + 1, Some(old));
            more.count(at, at + 1, Some(old));
            more.count(at, at + 1, Some(new));
        }
        grants.add(&more);
        assert_eq!(grants.granted_after(-1_000_000, &[old]), 6);
        assert_eq!(grants.granted_after(100_000, &[old]), 2, "its own slot does not count");
        assert_eq!(grants.granted_after(0, &[old, new]), 6);
        assert_eq!(grants.granted_after(0, &[]), 0);
        let before = grants.split_before(150_000);
        assert_eq!(before.granted_after(-1_000_000, &[old, new]), 6);
        assert_eq!(grants.granted_after(-1_000_000, &[old, new]), 3);
    }
}
