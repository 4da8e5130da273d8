//! Who held what at the same time.
//!
//! Holds are told in the order in which they began and ended, so nothing is kept of those that are over: the judge's memory is what is
//! held now. Times are nanoseconds since any origin.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

/// What the judge asks of a hold. Nearly all are alone, and of those it asks only the first two: they were another thread's, and reading
/// what that has written takes longer than anything that the judge does.
pub trait Hold {
    /// What tells it from all others.
    type Id: Copy + Eq + Hash;

    /// What tells it from all others.
    fn id(&self) -> Self::Id;

    /// The [`hash_of`] its key.
    fn key_hash(&self) -> u64;

    /// The lock.
    fn key(&self) -> &str;

    /// Whether it counts; what belongs to a warm-up can only be the first of two.
    fn counts(&self) -> bool;

    /// Until when its holder had reason to rely on the lock, as far as is known by now: the end of its validity, or when it was lost
    /// before that. `None` if that has no end.
    ///
    /// It may be put off later, but only before it is over.
    fn relied_until(&self) -> Option<i64>;

    /// Whether it outlasted its lock only because this machine stalled its holder; asked once it has ended.
    fn is_stalled(&self) -> bool;
}

/// The hash of a key.
pub fn hash_of(key: &str) -> u64 {
    FixedState::default().hash_one(key)
}

/// A hold begins or ends.
#[derive(Debug, Clone)]
pub struct HoldChange<H> {
    /// When.
    pub at: i64,
    /// Which one.
    pub hold: H,
    /// Whether it ends.
    pub ends: bool,
}

/// The judge of one arm.
#[derive(Debug)]
pub struct Holds<H: Hold> {
    /// By the hashes of their keys.
    open: HashMap<u64, OfKey<H>, FixedState>,
    /// Empty lists, to be used again.
    spare: Vec<OfKey<H>>,
    /// Changes that are not judged.
    told: Vec<HoldChange<H>>,
    /// What the last judgement was done with.
    done: Vec<Done<H>>,
    /// How many double holds were found so far.
    found: u64,
    /// Double holds whose holders have not both left.
    lasting: Vec<DoubleHold<H>>,
    /// Holds that end when they begin, and that overlap with nothing.
    empty: HashSet<H::Id>,
}

/// What is open of the locks whose keys share a hash: usually of one.
#[derive(Debug)]
struct OfKey<H> {
    /// The holds that have not ended, in the order in which they began.
    holds: Vec<Open<H>>,
    /// Double uses that stalls may still explain, by the hold that came in.
    uses: Vec<Open<H>>,
}

#[derive(Debug)]
struct Open<H> {
    hold: H,
    from: i64,
    /// The newest end of a hold that had begun before this one, and when.
    overtaken: Option<(H, i64)>,
}

/// What a judgement was done with: both tidings of each hold.
#[derive(Debug)]
pub struct Done<H> {
    /// The hold.
    pub hold: H,
    /// When it began and ended; only one of its tidings has it.
    pub lasted: Option<(i64, i64)>,
}

/// Two holders of one lock who both had reason to rely on it.
#[derive(Debug, Clone)]
pub struct DoubleHold<H> {
    /// Its number, from 1, in the order in which they were found.
    pub number: u64,
    /// The one that held it before, of several the one whose belief lasts longest.
    pub first: H,
    /// When it began.
    pub first_from: i64,
    /// When its section ended; `None` if it has not.
    pub first_until: Option<i64>,
    /// The one that came in.
    pub second: H,
    /// When it began, and the overlap with it.
    pub second_from: i64,
    /// When its section ended; `None` if it has not.
    pub second_until: Option<i64>,
    /// The last one that had begun before the first, and ended after the first had begun; and when. Its release may have removed the first
    /// one's key.
    pub overtaken: Option<(H, i64)>,
}

/// What was found in a part of the history.
#[derive(Debug)]
pub struct Found<H> {
    /// Those that began; they come again in `over`.
    pub double_holds: Vec<DoubleHold<H>>,
    /// When each double use began: a hold that began while another one of its key had not ended.
    pub double_uses: Vec<i64>,
    /// How many double uses, of this part or an earlier one, are known by now to come from stalls: everyone who was still inside had
    /// outlasted its lock only because of one.
    pub uses_by_stalls: u64,
    /// The double holds that are over: both holders have left.
    pub over: Vec<DoubleHold<H>>,
}

impl<H: Hold> Default for Holds<H> {
    fn default() -> Self {
        Self {
            open: HashMap::default(),
            spare: Vec::new(),
            told: Vec::new(),
            done: Vec::new(),
            found: 0,
            lasting: Vec::new(),
            empty: HashSet::new(),
        }
    }
}

impl<H> Default for OfKey<H> {
    fn default() -> Self {
        Self {
            holds: Vec::new(),
            uses: Vec::new(),
        }
    }
}

impl<H: Hold> OfKey<H> {
    /// How many double uses stalls explain, now that this hold has ended. One holder that is not stalled is enough to prove those that began
    /// while it was inside; a stalled one explains them if all who were inside with it are gone, too.
    fn explain(&mut self, ended: &Open<H>) -> u64 {
        if self.uses.is_empty() {
            return 0;
        }
        let is_its = |open: &Open<H>| open.hold.key() == ended.hold.key();
        if !ended.hold.is_stalled() {
            self.uses.retain(|second| !is_its(second) || second.from <= ended.from);
            return 0;
        }
        let oldest = self.holds.iter().find(|open| is_its(open)).map(|open| open.from);
        let is_explained = |second: &mut Open<H>| is_its(second) && oldest.is_none_or(|oldest| second.from <= oldest);
        self.uses.extract_if(.., is_explained).count() as u64
    }
}

impl<H: Hold> DoubleHold<H> {
    /// How long both had reason to rely on the lock, as far as is known by now; without an end it is `None`.
    pub fn overlap(&self) -> Option<i64> {
        let ends = [
            self.first_until,
            self.first.relied_until(),
            self.second_until,
            self.second.relied_until(),
        ];
        let end = ends.into_iter().flatten().min();
        end.map(|end| (end - self.second_from).max(0))
    }
}

impl<H: Hold + Clone> Holds<H> {
    /// Takes in changes.
    pub fn tell(&mut self, changes: impl IntoIterator<Item = HoldChange<H>>) {
        self.told.extend(changes);
    }

    /// What the last judgement was done with. Whoever made these holds frees them for less than another thread does.
    pub const fn done(&mut self) -> &mut Vec<Done<H>> {
        &mut self.done
    }

    /// Judges the changes until `known`: everything that happened until then has been told.
    pub fn judge(&mut self, known: i64) -> Found<H> {
        self.done.clear();
        let mut told = std::mem::take(&mut self.told);
        // An end comes before a beginning at the same time: holds that only touch don't overlap.
        told.sort_by_key(|change| (change.at, !change.ends));
        let judged = told.partition_point(|change| change.at <= known);
        let mut found = Found {
            double_holds: Vec::new(),
            double_uses: Vec::new(),
            uses_by_stalls: 0,
            over: Vec::new(),
        };
        for change in told.drain(..judged) {
            match change.ends {
                true => self.end(change, &mut found),
                false => self.begin(change, &mut found),
            }
        }
        self.told = told;
        found
    }

    /// The holds that have not ended.
    pub fn open(&self) -> impl Iterator<Item = &H> {
        self.open
            .values()
            .flat_map(|of_key| &of_key.holds)
            .map(|open| &open.hold)
    }

    fn begin(&mut self, HoldChange { at, hold, .. }: HoldChange<H>, found: &mut Found<H>) {
        if !self.empty.is_empty() && self.empty.remove(&hold.id()) {
            self.done.push(Done { hold, lasted: None });
            return;
        }
        let empty = || self.spare.pop().unwrap_or_default();
        let OfKey { holds, uses } = self.open.entry(hold.key_hash()).or_insert_with(empty);
        let others = || holds.iter().filter(|open| open.hold.key() == hold.key());
        if hold.counts() && others().next().is_some() {
            found.double_uses.push(at);
            uses.push(Open {
                hold: hold.clone(),
                from: at,
                overtaken: None,
            });
            // Without an end is later than any.
            let until = |open: &&Open<H>| open.hold.relied_until().unwrap_or(i64::MAX);
            let relies = others().filter(|open| until(open) > at).max_by_key(until);
            // A hold whose validity was over before it began is no belief.
            if let Some(first) = relies.filter(|_| hold.relied_until().is_none_or(|until| until > at)) {
                self.found += 1;
                let double = DoubleHold {
                    number: self.found,
                    first: first.hold.clone(),
                    first_from: first.from,
                    first_until: None,
                    second: hold.clone(),
                    second_from: at,
                    second_until: None,
                    overtaken: first.overtaken.clone(),
                };
                found.double_holds.push(double.clone());
                self.lasting.push(double);
            }
        }
        holds.push(Open {
            hold,
            from: at,
            overtaken: None,
        });
    }

    fn end(&mut self, change: HoldChange<H>, found: &mut Found<H>) {
        let (id, hash) = (change.hold.id(), change.hold.key_hash());
        let until = change.at;
        self.done.push(Done {
            hold: change.hold,
            lasted: None,
        });
        let mut known = false;
        if let Entry::Occupied(mut of_key) = self.open.entry(hash) {
            let position = of_key.get().holds.iter().position(|open| open.hold.id() == id);
            let ended = position.map(|position| of_key.get_mut().holds.remove(position));
            known = ended.is_some();
            if let Some((position, ended)) = position.zip(ended) {
                found.uses_by_stalls += of_key.get_mut().explain(&ended);
                // They stand in the order in which they began.
                let later = of_key.get_mut().holds.iter_mut().skip(position);
                for open in later.filter(|open| open.hold.key() == ended.hold.key()) {
                    open.overtaken = Some((ended.hold.clone(), until));
                }
                self.done.push(Done {
                    hold: ended.hold,
                    lasted: Some((ended.from, until)),
                });
            }
            if of_key.get().holds.is_empty() {
                let mut empty = of_key.remove();
                empty.uses.clear();
                self.spare.push(empty);
            }
        }
        if !known {
            self.empty.insert(id);
        }
        for double in &mut self.lasting {
            if double.first.id() == id {
                double.first_until = Some(change.at);
            }
            if double.second.id() == id {
                double.second_until = Some(change.at);
            }
        }
        let is_over = |double: &mut DoubleHold<H>| double.first_until.is_some() && double.second_until.is_some();
        found.over.extend(self.lasting.extract_if(.., is_over));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hold of lock `a`, or from number 100 on of lock `b`, with its number, and until when it may be relied on. Those from number
    /// [`STALLED`] on are stalled.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Held(u64, Option<i64>);

    const STALLED: u64 = 1000;

    impl Hold for Held {
        type Id = u64;

        fn id(&self) -> u64 {
            self.0
        }

        fn key_hash(&self) -> u64 {
            7
        }

        fn key(&self) -> &'static str {
            if self.0 < 100 { "a" } else { "b" }
        }

        fn counts(&self) -> bool {
            self.0 > 0
        }

        fn relied_until(&self) -> Option<i64> {
            self.1
        }

        fn is_stalled(&self) -> bool {
            self.0 >= STALLED
        }
    }

    /// Takes in changes, and judges those until `known`.
    fn judge(holds: &mut Holds<Held>, changes: impl IntoIterator<Item = HoldChange<Held>>, known: i64) -> Found<Held> {
        holds.tell(changes);
        holds.judge(known)
    }

    /// Holds with their beginning, their end, and the end of their validity, told in one piece.
    fn judged(holds: &[(i64, i64, Option<i64>)]) -> Found<Held> {
        let changes = (1..).zip(holds).flat_map(|(number, (from, until, relied))| {
            [(*from, false), (*until, true)].map(|(at, ends)| HoldChange {
                at,
                hold: Held(number, *relied),
                ends,
            })
        });
        judge(&mut Holds::default(), changes, i64::MAX)
    }

    /// How many double holds and double uses, and how long the first of them lasted.
    fn found(holds: &[(i64, i64, Option<i64>)]) -> (usize, usize, Option<i64>) {
        let found = judged(holds);
        let overlap = found.over.first().and_then(DoubleHold::overlap);
        (found.double_holds.len(), found.double_uses.len(), overlap)
    }

    #[test]
    fn holds_one_behind_the_other_are_no_double_holds() {
        assert_eq!(found(&[(0, 10, None), (10, 20, None), (25, 30, None)]), (0, 0, None));
    }

    #[test]
    fn two_who_believe_at_once_are_one_double_hold() {
        assert_eq!(found(&[(0, 10, None), (6, 20, None)]), (1, 1, Some(4)));
        assert_eq!(found(&[(0, 10, Some(8)), (6, 20, Some(30))]), (1, 1, Some(2)));
        assert_eq!(
            found(&[(0, 100, None), (6, 20, None), (30, 40, None)]),
            (2, 2, Some(14))
        );
        assert_eq!(found(&[(0, 9, None), (1, 9, None), (2, 9, None), (3, 9, None)]).0, 3);
    }

    #[test]
    fn what_a_holder_does_beyond_its_validity_is_double_use() {
        assert_eq!(found(&[(0, 10, Some(5)), (5, 20, None)]), (0, 1, None));
        assert_eq!(found(&[(0, 10, Some(5)), (6, 20, None)]), (0, 1, None));
        // The second one came in with nothing left.
        assert_eq!(found(&[(0, 10, None), (6, 20, Some(6))]), (0, 1, None));
    }

    #[test]
    fn a_double_use_comes_from_stalls_if_all_who_were_inside_had_outlasted_their_lock_by_one() {
        // All of one lock, each with its number, its beginning and its end.
        let by_stalls = |holds: &[(u64, i64, i64)]| {
            let changes = holds.iter().flat_map(|(number, from, until)| {
                [(*from, false), (*until, true)].map(|(at, ends)| HoldChange {
                    at,
                    hold: Held(*number, Some(0)),
                    ends,
                })
            });
            let mut judge_of_holds = Holds::default();
            let changes: Vec<_> = changes.collect();
            // What was found in an earlier part is explained in a later one, too.
            let found = [4, i64::MAX].map(|known| {
                judge(
                    &mut judge_of_holds,
                    changes.iter().filter(|change| (change.at > 4) == (known > 4)).cloned(),
                    known,
                )
            });
            assert_eq!(judge_of_holds.open.len(), 0);
            let [uses, explained] = [
                found.iter().map(|found| found.double_uses.len()).sum::<usize>() as u64,
                found.iter().map(|found| found.uses_by_stalls).sum(),
            ];
            (uses, explained)
        };
        let stalled = STALLED + 100;
        // Who comes in while a stalled one is inside; a stalled one that comes in while another is.
        assert_eq!(by_stalls(&[(stalled, 0, 10), (101, 2, 5)]), (1, 1));
        assert_eq!(by_stalls(&[(stalled, 0, 10), (101, 2, 15)]), (1, 1));
        assert_eq!(by_stalls(&[(101, 0, 10), (stalled, 2, 15)]), (1, 0));
        // Two come in one behind the other; the second one at the first one as well.
        assert_eq!(by_stalls(&[(stalled, 0, 10), (101, 2, 5), (102, 6, 8)]), (2, 2));
        assert_eq!(by_stalls(&[(stalled, 0, 10), (101, 2, 8), (102, 6, 9)]), (2, 1));
        assert_eq!(by_stalls(&[(stalled, 0, 10), (stalled + 1, 2, 8), (102, 6, 9)]), (2, 2));
        assert_eq!(by_stalls(&[(101, 0, 10), (stalled, 1, 5), (102, 2, 3)]), (2, 0));
        // Nobody is stalled, or nobody else is inside.
        assert_eq!(by_stalls(&[(101, 0, 10), (102, 2, 5)]), (1, 0));
        assert_eq!(by_stalls(&[(stalled, 0, 10), (101, 10, 15)]), (0, 0));
        // The one that is stalled holds another lock.
        assert_eq!(by_stalls(&[(1, 0, 10), (2, 2, 5), (stalled, 0, 10)]), (1, 0));
    }

    #[test]
    fn the_belief_that_lasts_longest_is_the_first_one() {
        let found = judged(&[(0, 50, Some(9)), (1, 50, Some(30)), (2, 50, Some(20)), (5, 50, None)]);
        let pairs: Vec<_> = found
            .double_holds
            .iter()
            .map(|double| (double.first.0, double.second.0))
            .collect();
        assert_eq!(pairs, [(1, 2), (2, 3), (2, 4)]);
        assert_eq!(
            found
                .double_holds
                .iter()
                .map(|double| double.number)
                .collect::<Vec<_>>(),
            [1, 2, 3]
        );
    }

    #[test]
    fn who_ends_while_a_later_one_holds_it_is_told_with_the_next_double_hold() {
        let overtaken = |holds: &[(i64, i64, Option<i64>)]| {
            let doubles = judged(holds).double_holds;
            doubles
                .iter()
                .map(|double| double.overtaken.as_ref().map(|(hold, at)| (hold.0, *at)))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            overtaken(&[(0, 7, None), (5, 20, None), (8, 30, None)]),
            [None, Some((1, 7))]
        );
        // The first one ends after the third has come, and the second one had come before nobody.
        assert_eq!(overtaken(&[(0, 9, None), (5, 20, None), (8, 30, None)]), [None, None]);
        assert_eq!(overtaken(&[(0, 4, None), (5, 20, None), (8, 30, None)]), [None]);
    }

    #[test]
    fn a_hold_that_ends_when_it_begins_overlaps_with_nothing() {
        assert_eq!(found(&[(5, 5, None), (5, 9, None)]), (0, 0, None));
        assert_eq!(found(&[(0, 9, None), (5, 5, None), (9, 12, None)]), (0, 0, None));
    }

    #[test]
    fn changes_are_judged_in_the_order_of_their_time_whoever_tells_first() {
        let mut holds = Holds::default();
        let change = |number, at, ends| HoldChange {
            at,
            hold: Held(number, None),
            ends,
        };
        // The second app server is read first, and has already seen what comes later.
        let found = judge(&mut holds, [change(2, 12, false), change(1, 5, false)], 10);
        assert_eq!((found.double_holds.len(), holds.open().count()), (0, 1));
        let found = judge(&mut holds, [change(1, 11, true)], 20);
        assert_eq!((found.double_holds.len(), holds.open().count()), (0, 1));
        let found = judge(&mut holds, [change(3, 15, false), change(2, 21, true)], 30);
        assert_eq!((found.double_holds.len(), found.over.len()), (1, 0));
        assert_eq!(judge(&mut holds, [change(3, 31, true)], 40).over[0].overlap(), Some(6));
        assert_eq!(
            (holds.open().count(), holds.lasting.len(), holds.empty.len()),
            (0, 0, 0),
            "nothing is kept"
        );
    }

    #[test]
    fn keys_with_the_same_hash_are_not_the_same() {
        let change = |number, at, ends| HoldChange {
            at,
            hold: Held(number, None),
            ends,
        };
        let begins = [1, 100, 2, 101].map(|number| change(number, 1, false));
        let mut holds = Holds::default();
        let found = judge(&mut holds, begins, 1);
        let pairs: Vec<_> = found
            .double_holds
            .iter()
            .map(|double| (double.first.0, double.second.0))
            .collect();
        assert_eq!((pairs, found.double_uses.len()), (vec![(1, 2), (100, 101)], 2));
        let found = judge(&mut holds, [1, 100, 2, 101].map(|number| change(number, 5, true)), 5);
        assert_eq!((found.over.len(), holds.open.len()), (2, 0));
    }

    #[test]
    fn who_came_in_during_the_warm_up_is_only_the_first_of_two() {
        let warm_up = |at, ends| HoldChange {
            at,
            hold: Held(0, None),
            ends,
        };
        let later = |number, at| HoldChange {
            at,
            hold: Held(number, None),
            ends: false,
        };
        let found = judge(
            &mut Holds::default(),
            [later(1, 1), warm_up(2, false), later(2, 3), warm_up(9, true)],
            10,
        );
        let pairs: Vec<_> = found.double_holds.iter().map(|double| double.second.0).collect();
        assert_eq!(pairs, [2]);
    }
}
