//! Granted locks, by when they were asked for and by the server that granted them.

use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::net::SocketAddr;

/// The width of the slots in which grants are counted, in microseconds.
const SLOT_US: i64 = 10_000;

/// How many locks were asked for in each slot of 10 ms and granted. Times are microseconds from second 0.
///
/// A grant counts from when it was *asked* for: a reply to what was asked before a fault may still come after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants(BTreeMap<(i64, Option<SocketAddr>), u64>);

impl Grants {
    /// Counts a lock that was asked for at this time and granted. `by` is the server that granted it, if that matters.
    pub fn count(&mut self, asked: i64, by: Option<SocketAddr>) {
        *self.0.entry((slot(asked), by)).or_default() += 1;
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        for (slot, granted) in &other.0 {
            *self.0.entry(*slot).or_default() += granted;
        }
    }

    /// Removes all grants that were asked for before this time, to within a slot, and returns them.
    #[must_use]
    pub fn split_before(&mut self, time: i64) -> Self {
        let later = self.0.split_off(&(slot(time), None));
        Self(std::mem::replace(&mut self.0, later))
    }

    /// How many locks were asked for after `time`, not in its slot, and granted by these servers.
    pub fn granted_after(&self, time: i64, servers: &[SocketAddr]) -> u64 {
        self.granted_by(&servers.iter().map(|server| (*server, time)).collect())
    }

    /// How many locks each of these servers has granted that were asked for after its time, not in its slot; all together.
    pub fn granted_by(&self, servers: &BTreeMap<SocketAddr, i64>) -> u64 {
        let Some(first) = servers.values().min() else { return 0 };
        let by_them = self.after(*first).filter(|((at, by), _)| {
            let since = by.as_ref().and_then(|by| servers.get(by));
            since.is_some_and(|since| *at > slot(*since))
        });
        by_them.map(|(_, granted)| granted).sum()
    }

    /// What was answered to what was asked after this time, not in its slot.
    fn after(&self, time: i64) -> Range<'_, (i64, Option<SocketAddr>), u64> {
        self.0.range((slot(time).saturating_add(1), None)..)
    }
}

/// The slot that a time lies in.
const fn slot(time: i64) -> i64 {
    time.div_euclid(SLOT_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn grants_are_counted_by_server_and_time() {
        let (old, new) = (server(1), server(2));
        let mut grants = Grants::default();
        let mut more = Grants::default();
        for at in [-20_000, 100_000, 200_000] {
            grants.count(at, Some(old));
            more.count(at, Some(old));
            more.count(at, Some(new));
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
