use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use super::time::Time;

/// Whoever has its turn and promised to act is given this much longer.
const PATIENCE: Duration = Duration::from_millis(50);

/// The callers of one app server in line for the same keys, first come, first served. The caller whose turn it is may ask for
/// the key, and keeps its turn as long as the lock is held; meanwhile the others need not ask. A turn that is not acted on in
/// time passes on, and so does one whose lock has ended without a release.
///
/// A key `K` that nobody wants has no line; `W` is the driver's handle of a waiter, `H` that of a lock.
#[derive(Debug, Clone)]
pub struct Lines<K, W, H> {
    by_key: HashMap<K, Line<W, H>>,
    last_ticket: u64,
    /// Which turns to look at, and when.
    due: BTreeMap<(Time, u64), K>,
}

#[derive(Debug, Clone)]
struct Line<W, H> {
    /// The ticket of the caller whose turn it is, and since when it has waited.
    turn: (u64, Time),
    /// When the turn is over unless it is acted on.
    acts_by: Time,
    /// When it is looked at, if somebody waits behind it.
    looked_at: Option<Time>,
    /// The lock that was acquired in this turn.
    held: Option<H>,
    /// Those behind, by their tickets.
    behind: BTreeMap<u64, (Time, W)>,
}

impl<K, W, H> Default for Lines<K, W, H> {
    fn default() -> Self {
        Self {
            by_key: HashMap::new(),
            last_ticket: 0,
            due: BTreeMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash, W, H> Lines<K, W, H> {
    /// Gives a ticket to a caller that has waited since `since`. If the line is empty, it is its turn, and it promises to act by
    /// `until`.
    pub fn enter(&mut self, key: &K, since: Time, until: Time, waiter: W) -> u64 {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        if let Some(line) = self.by_key.get_mut(key) {
            line.behind.insert(ticket, (since, waiter));
            self.watch(key);
        } else {
            let line = Line {
                turn: (ticket, since),
                acts_by: until + PATIENCE,
                looked_at: None,
                held: None,
                behind: BTreeMap::new(),
            };
            self.by_key.insert(key.clone(), line);
        }
        ticket
    }

    /// Whether somebody is in line for this key.
    #[must_use]
    pub fn is_wanted(&self, key: &K) -> bool {
        self.by_key.contains_key(key)
    }

    /// Whether nobody is in line for anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Whether it is the turn of this ticket.
    #[must_use]
    pub fn is_turn(&self, key: &K, ticket: u64) -> bool {
        self.by_key.get(key).is_some_and(|line| line.turn.0 == ticket)
    }

    /// The handle of a waiter behind the present turn; `None` if it has lost its place since it did not take its turn in time.
    pub fn waiter(&mut self, key: &K, ticket: u64) -> Option<&mut W> {
        Some(&mut self.by_key.get_mut(key)?.behind.get_mut(&ticket)?.1)
    }

    /// The caller whose turn it is will act again by `until`. Returns false if its turn is over.
    pub fn promise(&mut self, key: &K, ticket: u64, until: Time) -> bool {
        let is_turn = self.is_turn(key, ticket);
        if let Some(line) = self.by_key.get_mut(key).filter(|_| is_turn) {
            line.acts_by = until + PATIENCE;
            self.watch(key);
        }
        is_turn
    }

    /// The lock was acquired: the turn lasts as long as it does.
    pub fn hold(&mut self, key: &K, ticket: u64, lock: H) {
        if let Some(line) = self.by_key.get_mut(key).filter(|line| line.turn.0 == ticket) {
            line.held = Some(lock);
        }
    }

    /// The caller with this ticket leaves the line. Returns the one whose turn it is now instead, which must be told.
    pub fn leave(&mut self, key: &K, ticket: u64, now: Time) -> Option<W> {
        let line = self.by_key.get_mut(key)?;
        if line.turn.0 == ticket {
            return self.pass_on(key, now);
        }
        line.behind.remove(&ticket);
        None
    }

    fn pass_on(&mut self, key: &K, now: Time) -> Option<W> {
        let line = self.by_key.get_mut(key)?;
        if let Some(at) = line.looked_at.take() {
            self.due.remove(&(at, line.turn.0));
        }
        let Some((ticket, (since, waiter))) = line.behind.pop_first() else {
            self.by_key.remove(key);
            return None;
        };
        (line.turn, line.acts_by, line.held) = ((ticket, since), now + PATIENCE, None);
        self.watch(key);
        Some(waiter)
    }

    /// Somebody waits behind the present turn, so it is looked at when it is due.
    fn watch(&mut self, key: &K) {
        let Some(line) = self.by_key.get_mut(key).filter(|line| !line.behind.is_empty()) else {
            return;
        };
        let ticket = line.turn.0;
        if line.looked_at.is_none_or(|at| line.acts_by < at) {
            if let Some(at) = line.looked_at.replace(line.acts_by) {
                self.due.remove(&(at, ticket));
            }
            self.due.insert((line.acts_by, ticket), key.clone());
        }
    }

    /// Passes on the turns that were not acted on in time, and those whose lock has ended. Returns those whose turn it is now,
    /// with their keys. `valid_until`: until when a lock is valid, if it still is.
    pub fn look(&mut self, valid_until: impl Fn(&H) -> Option<Time>, now: Time) -> Vec<(K, W)> {
        let mut told = Vec::new();
        while let Some(entry) = self.due.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, ticket), key) = entry.remove_entry();
            let Some(line) = self.by_key.get_mut(&key) else {
                continue;
            };
            let ends = line.held.as_ref().map_or(Some(line.acts_by), &valid_until);
            line.looked_at = ends.filter(|ends| *ends > now && !line.behind.is_empty());
            if let Some(ends) = line.looked_at {
                self.due.insert((ends, ticket), key);
            } else if !line.behind.is_empty()
                && let Some(waiter) = self.pass_on(&key, now)
            {
                told.push((key, waiter));
            }
        }
        told
    }

    /// When to [look](Self::look) next.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// Since when the first of those has waited that do not have the lock.
    #[must_use]
    pub fn waiting_since<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<Time>
    where
        K: Borrow<Q>,
    {
        let line = self.by_key.get(key)?;
        match line.held {
            None => Some(line.turn.1),
            Some(_) => line.behind.first_key_value().map(|(_, (since, _))| *since),
        }
    }

    /// The number of waiters behind the present turn.
    #[must_use]
    pub fn behind(&self, key: &K) -> usize {
        self.by_key.get(key).map_or(0, |line| line.behind.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// A line with so many callers, of whom the first one promised to act by 10.
    fn line(callers: u64) -> (Lines<char, u64, Time>, Vec<u64>) {
        let mut lines = Lines::default();
        let tickets = (0..callers).map(|n| lines.enter(&'k', at(n), at(10), n)).collect();
        (lines, tickets)
    }

    fn look(lines: &mut Lines<char, u64, Time>, now: u64) -> Vec<(char, u64)> {
        lines.look(|until| (*until > at(now)).then_some(*until), at(now))
    }

    #[test]
    fn a_line_is_served_in_order_and_those_who_leave_take_no_room() {
        let (mut lines, tickets) = line(5);
        assert!(lines.is_turn(&'k', tickets[0]));
        for gone in [1, 3] {
            assert_eq!(lines.leave(&'k', tickets[gone], at(1)), None);
        }
        assert_eq!((lines.behind(&'k'), lines.waiting_since(&'k')), (2, Some(at(0))));
        lines.hold(&'k', tickets[0], at(1000));
        assert_eq!(lines.waiting_since(&'k'), Some(at(2)));
        assert_eq!(lines.leave(&'k', tickets[0], at(2)), Some(2));
        // Its turn is over.
        assert_eq!(lines.leave(&'k', tickets[0], at(2)), None);
        assert_eq!(lines.leave(&'k', tickets[2], at(3)), Some(4));
        assert_eq!(lines.leave(&'k', tickets[4], at(4)), None);
        assert!(lines.is_empty());
    }

    #[test]
    fn a_turn_that_nobody_acts_on_passes_on_and_one_that_is_acted_on_stays() {
        let (mut lines, tickets) = line(3);
        assert_eq!(lines.due(), Some(at(60)));
        assert!(lines.promise(&'k', tickets[0], at(100)));
        assert_eq!((look(&mut lines, 60), lines.due()), (vec![], Some(at(150))));
        assert_eq!(look(&mut lines, 150), [('k', 1)]);
        assert!(!lines.promise(&'k', tickets[0], at(200)));
        // An earlier promise counts too, and the last one has nobody behind it.
        assert!(lines.promise(&'k', tickets[1], at(300)) && lines.promise(&'k', tickets[1], at(160)));
        assert_eq!(look(&mut lines, 210), [('k', 2)]);
        assert_eq!(
            (look(&mut lines, 1000), lines.is_turn(&'k', tickets[2])),
            (vec![], true)
        );
        assert_eq!(lines.due(), None);
    }

    #[test]
    fn a_turn_lasts_as_long_as_its_lock_is_valid() {
        let (mut lines, tickets) = line(2);
        lines.hold(&'k', tickets[0], at(500));
        assert_eq!((look(&mut lines, 499), lines.due()), (vec![], Some(at(500))));
        assert_eq!(look(&mut lines, 500), [('k', 1)]);
    }
}
