//! Granted locks, by when they were asked for and by the server that granted them, and what other attempts show of whether
//! locks were available.

use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::net::SocketAddr;

/// The width of the slots in which grants are counted, in microseconds.
const SLOT_US: i64 = 10_000;

/// How many locks were asked for in each slot of 10 ms and granted, and what else was answered to what was asked in it. Times
/// are microseconds from second 0.
///
/// An attempt counts from when it was *asked*: a reply to what was asked before a fault may still come after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants(BTreeMap<(i64, Option<SocketAddr>), Answers>);

/// What was answered to the attempts that were asked in one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answers {
    granted: u64,
    /// The first that shows that locks were available.
    had: Option<Had>,
    /// When the first was asked that was refused for lack of nodes.
    refused: Option<i64>,
    /// When the last answer came.
    last: i64,
}

/// An attempt that shows that locks were available: it was granted, or enough nodes answered, and somebody else holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Had {
    /// When it was answered.
    pub answered: i64,
    /// When it was asked.
    pub asked: i64,
}

impl Grants {
    /// Counts a lock that was asked for and granted at these times. `by` is the server that granted it, if that matters.
    pub fn count(&mut self, asked: i64, granted: i64, by: Option<SocketAddr>) {
        self.answered(asked, granted, by, (1, true));
    }

    /// Notes an attempt that was not granted: because somebody else holds the lock (`held`), or for lack of nodes.
    pub fn not_granted(&mut self, asked: i64, answered: i64, held: bool) {
        self.answered(asked, answered, None, (0, held));
    }

    fn answered(&mut self, asked: i64, answered: i64, by: Option<SocketAddr>, (granted, had): (u64, bool)) {
        let one = Answers {
            granted,
            had: had.then_some(Had { answered, asked }),
            refused: (!had).then_some(asked),
            last: answered,
        };
        self.put((slot(asked), by), one);
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        for (slot, answers) in &other.0 {
            self.put(*slot, *answers);
        }
    }

    /// Removes all grants that were asked for before this time, to within a slot, and returns them.
    #[must_use]
    pub fn split_before(&mut self, time: i64) -> Self {
        let later = self.0.split_off(&(slot(time), None));
        Self(std::mem::replace(&mut self.0, later))
    }

    /// The first answer to what was asked after this time that shows that locks were available. What was asked in the same slot
    /// does not count, since it may have been before, so the result is at most 10 ms too late.
    pub fn first_had_after(&self, time: i64) -> Option<Had> {
        self.after(time).filter_map(|(_, answers)| answers.had).min()
    }

    /// When the first attempt was asked after `from`, not in its slot, and no later than `to`, that was refused for lack of nodes.
    pub fn first_refused(&self, from: i64, to: i64) -> Option<i64> {
        let mut meant = self.after(from).take_while(|((at, _), _)| *at <= slot(to));
        meant.find_map(|(_, answers)| answers.refused)
    }

    /// How long after this time the last answer came to what was asked before, or in its slot.
    pub fn late_at(&self, time: i64) -> i64 {
        let earlier = self.0.range(..(slot(time) + 1, None));
        let last = earlier.map(|(_, answers)| answers.last).max();
        last.map_or(0, |last| (last - time).max(0))
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
        by_them.map(|(_, answers)| answers.granted).sum()
    }

    /// What was answered to what was asked after this time, not in its slot.
    fn after(&self, time: i64) -> Range<'_, (i64, Option<SocketAddr>), Answers> {
        self.0.range((slot(time).saturating_add(1), None)..)
    }

    fn put(&mut self, slot: (i64, Option<SocketAddr>), new: Answers) {
        let join = |known: &mut Answers| {
            known.granted += new.granted;
            known.had = known.had.into_iter().chain(new.had).min();
            known.refused = known.refused.into_iter().chain(new.refused).min();
            known.last = known.last.max(new.last);
        };
        self.0.entry(slot).and_modify(join).or_insert(new);
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
    fn what_was_asked_before_does_not_end_an_outage() {
        let mut grants = Grants::default();
        // Asked before 1 s, although granted after it.
        grants.count(995_000, 1_200_000, None);
        assert_eq!(grants.first_had_after(1_000_000), None);
        assert_eq!(grants.late_at(1_000_000), 200_000);
        grants.count(1_500_000, 1_900_000, None);
        grants.not_granted(1_700_000, 1_800_000, true);
        let had = |time| grants.first_had_after(time).map(|had| (had.asked, had.answered));
        assert_eq!(had(1_000_000), Some((1_700_000, 1_800_000)));
        assert_eq!(had(-5), Some((995_000, 1_200_000)));
        assert_eq!((grants.late_at(-5), grants.late_at(2_000_000)), (0, 0));
    }

    #[test]
    fn a_refusal_counts_from_when_it_was_asked() {
        let mut grants = Grants::default();
        grants.not_granted(995_000, 1_200_000, false);
        grants.not_granted(1_500_000, 1_550_000, false);
        assert_eq!(grants.first_had_after(0), None);
        let refused = |from, to| grants.first_refused(from, to);
        assert_eq!(refused(1_000_000, i64::MAX), Some(1_500_000));
        assert_eq!(refused(1_000_000, 1_500_000), Some(1_500_000));
        assert_eq!(refused(0, 1_000_000), Some(995_000));
        assert_eq!(
            (refused(1_000_000, 1_400_000), refused(1_500_000, i64::MAX)),
            (None, None)
        );
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
