//! When the locks of an arm were available, and from whom.
//!
//! A lock is unavailable while it has no holder, at least one client asks for it, and every request is refused. The same is measured of
//! the arm as a whole, as if all its locks were one.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;

use crate::under_test::HeldLock;
use crate::workload::Happened;
use lockstorm_data::metrics::{Consequence, ConsequenceKind, Grants, Outage};
use lockstorm_data::model::Target;

/// How long grants are kept, in microseconds: the effect of a fault, or a new master, may be recorded this much later.
const KEPT_US: i64 = 60_000_000;
/// How long it may take until the effect of a fault on a host is known, in microseconds.
const KNOWN_US: i64 = 5_000_000;
/// A request may have been sent this long before the fault that it met, in microseconds.
const BEFORE_US: i64 = 250_000;
/// A shorter time is that of a hand-over, in microseconds.
const SHORTEST_US: i64 = 10_000;
/// A fault delays acquires if they take twice as long as before it and this much longer, on average, in microseconds.
const DELAY_US: u64 = 5_000;
/// If no client asks for a lock for longer, and another one is granted meanwhile, it may have been available, in microseconds.
const UNASKED_US: i64 = 1_000_000;
/// Keys may outlive the end of a fault by their TTL, and this, in microseconds.
const MARGIN_US: i64 = 1_000_000;
/// The width of the slots in which answers are counted, in microseconds.
const TENTH_US: i64 = 100_000;

/// What became of the locks of one arm. Times are microseconds from second 0.
#[derive(Debug, Default)]
pub(crate) struct Availability {
    grants: Grants,
    /// Changes that are not applied yet: those of other app servers may be earlier.
    pending: Vec<Change>,
    /// By the hashes of their keys.
    locks: HashMap<u64, Lock, FixedState>,
    /// All of them, as if they were one.
    whole: Lock,
    /// When one of them was granted last.
    granted: i64,
    /// The effects of faults in the order in which they became known, and the answers while each lasted.
    hits: Vec<Hit>,
    answers_during: Vec<Answers>,
    /// The times in which locks were unavailable that ended lately: the fault that caused one may not be known yet.
    recent: VecDeque<Gap>,
    /// The same of the whole.
    recent_of_whole: VecDeque<Gap>,
    /// What older ones add up to: for each hit, and at the end without one.
    settled: BTreeMap<Option<usize>, Sum>,
    /// The answers in each tenth of a second that are not settled, and those before the first hit.
    answers: BTreeMap<i64, Answers>,
    before: Answers,
    /// How often a client asked for a lock that another one held.
    pub contested: u64,
    /// The longest TTL that the locks have had.
    ttl: i64,
    /// The servers that are no masters any more and must grant nothing, and since when.
    old_masters: BTreeMap<SocketAddr, i64>,
    /// Grants by old masters that are masters again, or that are not kept any more.
    by_old_masters: u64,
    /// Since when there has been an old master for the first time.
    first_old_master: Option<i64>,
}

/// A change of one lock.
#[derive(Debug)]
struct Change {
    at: i64,
    key_hash: u64,
    kind: ChangeKind,
}

#[derive(Debug, Clone, Copy)]
enum ChangeKind {
    Asked,
    Answered,
    Refused { asked: i64, lacks_nodes: bool },
    Began { begun: i64, asked: i64, waited: bool },
    Ended { is_dead: bool },
}

/// One lock, or all of them.
#[derive(Debug, Clone, Copy)]
struct Lock {
    holders: i64,
    /// Requests to another program that are under way.
    asking: i64,
    /// Since when it has had no holder.
    free: i64,
    /// Whether its last holder has died.
    is_orphan: bool,
    /// Since when it has been asked for in vain, without a holder, and when it was refused last.
    first: Option<i64>,
    last: Option<i64>,
    refusals: u64,
    /// Whether one of these was for lack of nodes.
    lacked_nodes: bool,
}

/// A time in which a lock was unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    key_hash: u64,
    from: i64,
    until: i64,
    refusals: u64,
    /// Whether its holder had died, and no request was refused for lack of nodes.
    is_orphan: bool,
    over: bool,
}

/// The times in which locks were unavailable by one cause.
#[derive(Debug, Clone, Default)]
struct Sum {
    longest: Option<Gap>,
    /// The longest time in which all locks were unavailable through this cause.
    whole: Option<Gap>,
    refusals: u64,
    refused: HashSet<u64, FixedState>,
    /// Locks that were unavailable long after the death of their holder, and the longest of these times.
    outlived: HashSet<u64, FixedState>,
    outlived_us: i64,
}

/// What was answered within some time.
#[derive(Debug, Clone, Copy, Default)]
struct Answers {
    /// Attempts that were refused for lack of nodes.
    refused: u64,
    /// Attempts at locks without a holder that were granted, and how long that took in all.
    granted: u64,
    took_us: u64,
}

/// The effect of a fault on one of its targets, or a master that became a replica.
#[derive(Debug)]
struct Hit {
    at: i64,
    /// When it was ended.
    until: Option<i64>,
    target: Option<Target>,
    /// The number of the fault, which may have several targets; `None` if nothing else belongs to this one.
    fault: Option<usize>,
    /// The event that brought it about.
    event: Option<u64>,
    /// How many locks the app server held that it killed.
    orphans: u64,
}

impl Answers {
    fn add(&mut self, other: Self) {
        self.refused += other.refused;
        self.granted += other.granted;
        self.took_us += other.took_us;
    }

    fn mean(&self) -> Option<u64> {
        self.took_us.checked_div(self.granted)
    }
}

impl Hit {
    /// Whether the fault lasted in this tenth of a second. A dead app server delays no acquire by itself.
    fn covers(&self, tenth: i64) -> bool {
        let is_of_nodes = matches!(self.target, Some(Target::Host(_) | Target::Link(_)));
        let last = self.until.map_or(i64::MAX, |until| until.div_euclid(TENTH_US) + 1);
        is_of_nodes && (self.at.div_euclid(TENTH_US)..=last).contains(&tenth)
    }

    /// Whether it may have made a lock unavailable for this time.
    fn explains(&self, gap: &Gap, ttl: i64) -> bool {
        let end = match self.target {
            // The locks of an app server are lost at its death.
            Some(Target::Server(_) | Target::Client(_)) => Some(self.until.unwrap_or(self.at)),
            _ => self.until,
        };
        let last = end.map_or(i64::MAX, |end| end.saturating_add(ttl + MARGIN_US));
        (self.at - BEFORE_US..=last).contains(&gap.from) && self.at <= gap.until
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            holders: 0,
            asking: 0,
            // It was free before the run.
            free: i64::MIN,
            is_orphan: false,
            first: None,
            last: None,
            refusals: 0,
            lacked_nodes: false,
        }
    }
}

impl Lock {
    /// Applies a change; a lock was `granted` last at that time. Returns the time in which this lock was unavailable, if that has ended.
    fn apply(&mut self, change: &Change, granted: i64) -> Option<Gap> {
        let (at, is_free) = (change.at, self.holders <= 0);
        match change.kind {
            ChangeKind::Asked => {
                self.asking += 1;
                if is_free {
                    self.first.get_or_insert(at);
                }
                None
            }
            ChangeKind::Answered => {
                self.asking -= 1;
                // A request that was cancelled shows nothing.
                if self.asking <= 0 && self.last.is_none() {
                    self.first = None;
                }
                None
            }
            ChangeKind::Refused { asked, lacks_nodes } => {
                // An attempt that was asked while another client held the lock says nothing of the time after that; a request to
                // another program that has lasted since then does.
                if is_free && (asked >= self.free || self.asking > 0) {
                    let from = asked.max(self.free);
                    let is_unasked = |last: i64| self.asking <= 0 && from - last > UNASKED_US && granted > last;
                    let gap = self.last.filter(|last| is_unasked(*last)).and_then(|last| {
                        let gap = self.gap_of(change.key_hash, [self.first?, last], false);
                        (self.first, self.refusals, self.lacked_nodes) = (None, 0, false);
                        gap
                    });
                    self.first = Some(self.first.map_or(from, |first| first.min(from)));
                    self.last = Some(at);
                    self.refusals += 1;
                    self.lacked_nodes |= lacks_nodes;
                    return gap;
                }
                None
            }
            ChangeKind::Began { asked, waited, .. } => {
                let gap = is_free.then(|| self.gap(change.key_hash, asked.max(self.free), at, waited));
                *self = Self {
                    holders: self.holders.max(0) + 1,
                    asking: self.asking,
                    ..Self::default()
                };
                gap.flatten()
            }
            ChangeKind::Ended { is_dead } => {
                self.holders -= 1;
                if self.holders <= 0 {
                    (self.free, self.is_orphan) = (at, is_dead);
                    self.first = (self.asking > 0).then_some(at);
                }
                None
            }
        }
    }

    /// The time until `at` in which it was unavailable: a request that had waited since `asked` without a holder was granted then.
    /// `waited`: whether that had been refused before.
    fn gap(&self, key_hash: u64, asked: i64, at: i64, waited: bool) -> Option<Gap> {
        let waited = waited || self.asking > 0 && at - asked >= SHORTEST_US;
        let refused = self.first.zip(self.last);
        let [from, until] = match (self.first, refused) {
            (Some(first), _) if waited => [first.min(asked), at],
            (_, Some((first, last))) if last - first > at - asked => [first, last],
            _ => [asked, at],
        };
        self.gap_of(key_hash, [from, until], true)
    }

    /// What lasts at `now`.
    fn lasting(&self, key_hash: u64, now: i64) -> Option<Gap> {
        let until = if self.asking > 0 { now } else { self.last? };
        self.gap_of(key_hash, [self.first?, until.min(now)], false)
            .filter(|_| self.holders <= 0)
    }

    fn gap_of(&self, key_hash: u64, [from, until]: [i64; 2], over: bool) -> Option<Gap> {
        // Of the warm-up nothing is measured.
        let from = from.max(0);
        (until - from >= SHORTEST_US).then_some(Gap {
            key_hash,
            from,
            until,
            refusals: self.refusals,
            is_orphan: self.is_orphan && !self.lacked_nodes,
            over,
        })
    }
}

impl Sum {
    fn add(&mut self, gap: &Gap, ttl: i64) {
        if self.longest.is_none_or(|longest| longest.length() < gap.length()) {
            self.longest = Some(*gap);
        }
        if gap.refusals > 0 {
            self.refused.insert(gap.key_hash);
        }
        self.refusals += gap.refusals;
        if gap.is_orphan && gap.length() > 2 * ttl + MARGIN_US {
            self.outlived.insert(gap.key_hash);
            self.outlived_us = self.outlived_us.max(gap.length());
        }
    }

    fn add_whole(&mut self, gap: Gap) {
        if self.whole.is_none_or(|longest| longest.length() < gap.length()) {
            self.whole = Some(gap);
        }
    }

    fn outage(&self, event: Option<u64>) -> Option<Outage> {
        let longest = self.longest?;
        Some(Outage {
            at: longest.from as f64 / 1e6,
            event,
            lasted_us: longest.length().unsigned_abs(),
            over: longest.over,
            locks: self.refused.len() as u64,
            refusals: self.refusals,
            all_us: self.whole.map_or(0, |gap| gap.length().unsigned_abs()),
            all_over: self.whole.is_none_or(|gap| gap.over),
        })
    }
}

impl Gap {
    const fn length(&self) -> i64 {
        self.until - self.from
    }
}

impl Availability {
    /// Notes that locks have this TTL from now on.
    pub fn set_ttl(&mut self, ttl: Duration) {
        self.ttl = self.ttl.max(i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX / 4));
    }

    /// Takes in the new grants of one app server.
    pub fn add(&mut self, new: &Grants) {
        self.grants.add(new);
    }

    /// Removes grants that were too long before `now` to matter.
    pub fn drop_old_grants(&mut self, now: i64) {
        let old = self.grants.split_before(now - KEPT_US);
        self.by_old_masters += old.granted_by(&self.old_masters);
    }

    /// Adds what has happened to a lock; `micros` converts instants to times since second 0.
    pub fn push(&mut self, at: i64, key_hash: u64, what: &Happened, micros: impl Fn(Instant) -> i64) {
        let kind = match what {
            Happened::Asked => ChangeKind::Asked,
            Happened::Answered => ChangeKind::Answered,
            Happened::NotGranted { asked, lacks_nodes } => ChangeKind::Refused {
                asked: micros(*asked),
                lacks_nodes: *lacks_nodes,
            },
            // A worker that works without the lock does not hold it.
            Happened::Began(hold) | Happened::Ended(hold) if !hold.has_lock => return,
            Happened::Began(hold) => {
                let begun = micros(hold.asked);
                let asked = micros(hold.lock.as_ref().map_or(hold.asked, HeldLock::asked));
                ChangeKind::Began {
                    begun,
                    asked,
                    // The first attempt is made at once.
                    waited: asked - begun >= 1000,
                }
            }
            Happened::Ended(hold) => ChangeKind::Ended {
                is_dead: hold.has_died(),
            },
            Happened::GivenBack(..) | Happened::Refused(_) => return,
        };
        self.pending.push(Change { at, key_hash, kind });
    }

    /// Applies the changes of all app servers until `now`.
    pub fn settle(&mut self, now: i64) {
        self.pending.sort_by_key(|change| change.at);
        let known = self.pending.partition_point(|change| change.at <= now);
        for change in self.pending.drain(..known) {
            let lock = self.locks.entry(change.key_hash).or_default();
            let answers = self.answers.entry(change.at.div_euclid(TENTH_US)).or_default();
            match change.kind {
                ChangeKind::Refused { lacks_nodes: true, .. } => answers.refused += 1,
                ChangeKind::Refused { .. } => self.contested += u64::from(change.at >= 0),
                ChangeKind::Began { begun, .. } if lock.holders > 0 || begun < lock.free => {
                    self.contested += u64::from(change.at >= 0);
                }
                ChangeKind::Began { asked, .. } if lock.holders <= 0 && asked >= lock.free => {
                    answers.granted += 1;
                    answers.took_us += (change.at - asked).max(0).unsigned_abs();
                }
                _ => {}
            }
            self.recent.extend(lock.apply(&change, self.granted));
            let of_whole = self.whole.apply(&Change { key_hash: 0, ..change }, self.granted);
            self.recent_of_whole.extend(of_whole);
            if matches!(change.kind, ChangeKind::Began { .. }) {
                self.granted = change.at;
            }
        }
        let settled = now - KNOWN_US;
        while let Some(gap) = self.recent.pop_front_if(|gap| gap.until < settled) {
            let cause = self.cause(&gap);
            self.settled.entry(cause).or_default().add(&gap, self.ttl);
        }
        while let Some(gap) = self.recent_of_whole.pop_front_if(|gap| gap.until < settled) {
            let cause = self.cause(&gap);
            self.settled.entry(cause).or_default().add_whole(gap);
        }
        let later = self.answers.split_off(&settled.div_euclid(TENTH_US));
        let known = std::mem::replace(&mut self.answers, later);
        Self::assign(&self.hits, &known, &mut self.answers_during, &mut self.before);
    }

    /// Adds answers to the faults in whose time they were, and to those before all faults.
    fn assign(hits: &[Hit], answers: &BTreeMap<i64, Answers>, during: &mut [Answers], before: &mut Answers) {
        for (tenth, answers) in answers {
            if *tenth >= 0 && hits.iter().all(|hit| *tenth < hit.at.div_euclid(TENTH_US)) {
                before.add(*answers);
            }
            let its = hits.iter().zip(&mut *during).filter(|(hit, _)| hit.covers(*tenth));
            its.for_each(|(_, during)| during.add(*answers));
        }
    }

    /// The index in `hits` of the cause: the last one before it. A fault with several targets is represented by the first of them.
    fn cause(&self, gap: &Gap) -> Option<usize> {
        let explain = self
            .hits
            .iter()
            .enumerate()
            .filter(|(_, hit)| hit.explains(gap, self.ttl));
        let (index, Hit { fault, .. }) = explain.max_by_key(|(_, hit)| hit.at)?;
        let same = |hit: &Hit| fault.is_some() && hit.fault == *fault;
        Some(self.hits.iter().position(same).unwrap_or(index))
    }

    /// Notes that a fault has taken effect at `at` on `target`, or that a master became a replica: locks may be unavailable because of
    /// this fault if it has a number, by this event.
    pub fn outage_from(&mut self, at: i64, target: Option<Target>, fault: Option<usize>, event: Option<u64>) {
        self.hits.push(Hit {
            at,
            until: None,
            target,
            fault,
            event,
            orphans: 0,
        });
        self.answers_during.push(Answers::default());
    }

    /// Sets the event of the hit at `at`, if it had none.
    pub fn set_event(&mut self, at: i64, event: u64) {
        let meant = |hit: &&mut Hit| hit.event.is_none() && (hit.at - at).abs() < 1000;
        self.hits
            .iter_mut()
            .filter(meant)
            .for_each(|hit| hit.event = Some(event));
    }

    /// Notes that the faults on `target` ended at `at`.
    pub fn end_fault(&mut self, at: i64, target: Target) {
        let open = |hit: &&mut Hit| hit.target == Some(target) && hit.until.is_none() && hit.at <= at;
        self.hits.iter_mut().filter(open).for_each(|hit| hit.until = Some(at));
    }

    /// Notes how many locks the app server held that the last fault on `target` killed.
    pub fn set_orphans(&mut self, target: Target, locks: u64) {
        let hit = self.hits.iter_mut().rfind(|hit| hit.target == Some(target));
        if let Some(hit) = hit {
            hit.orphans = locks;
        }
    }

    /// The times in which locks were unavailable, by cause; `now` ends those that last.
    fn sums(&self, now: i64) -> BTreeMap<Option<usize>, Sum> {
        let mut sums = self.settled.clone();
        let lasting = self.locks.iter().filter_map(|(hash, lock)| lock.lasting(*hash, now));
        for gap in self.recent.iter().copied().chain(lasting) {
            sums.entry(self.cause(&gap)).or_default().add(&gap, self.ttl);
        }
        for gap in self.recent_of_whole.iter().copied().chain(self.whole.lasting(0, now)) {
            sums.entry(self.cause(&gap)).or_default().add_whole(gap);
        }
        sums
    }

    /// For each fault, each master that became a replica, and for all other times together, how long a lock was unavailable; and how each
    /// fault tested the locks. `now` ends what lasts.
    pub fn outages_and_consequences(&self, now: i64) -> (Vec<Outage>, Vec<Consequence>) {
        let sums = self.sums(now);
        let event = |cause: &Option<usize>| cause.and_then(|cause| self.hits[cause].event);
        let outages = sums.iter().filter_map(|(cause, sum)| sum.outage(event(cause)));
        let outages = outages.collect();
        let mut all: Vec<Consequence> = self.by_old_masters().into_iter().collect();
        let (mut met, mut before) = (self.answers_during.clone(), self.before);
        Self::assign(&self.hits, &self.answers, &mut met, &mut before);
        for (index, (hit, met)) in self.hits.iter().zip(met).enumerate() {
            let mut add = |kind| {
                all.push(Consequence {
                    at: hit.at as f64 / 1e6,
                    event: hit.event,
                    kind,
                });
            };
            if hit.orphans > 0 {
                add(ConsequenceKind::Orphaned { locks: hit.orphans });
            }
            // What a dead app server or program has left keeps others out.
            let kept_out = sums.get(&Some(index)).filter(|sum| {
                let is_of_nodes = matches!(hit.target, Some(Target::Host(_) | Target::Link(_)) | None);
                !is_of_nodes && sum.longest.is_some_and(|gap| gap.length() >= TENTH_US)
            });
            let attempts = met.refused + kept_out.map_or(0, |sum| sum.refusals);
            if attempts > 0 {
                add(ConsequenceKind::Refused { attempts });
            }
            let then = before.mean().unwrap_or(0);
            let by_us = met.mean().unwrap_or(0).saturating_sub(then);
            if by_us >= then.max(DELAY_US) {
                add(ConsequenceKind::Delayed { by_us });
            }
            if let Some(sum) = sums.get(&Some(index)).filter(|sum| !sum.outlived.is_empty()) {
                add(ConsequenceKind::OutlivedHolder {
                    locks: sum.outlived.len() as u64,
                    longest_us: sum.outlived_us.unsigned_abs(),
                });
            }
        }
        (outages, all)
    }

    /// Notes that a new master has accepted writes since then. These are its servers; the others are no masters any more.
    pub fn new_master(&mut self, since: i64, servers: &[SocketAddr], others: &[SocketAddr]) {
        for server in servers {
            if let Some(old_since) = self.old_masters.remove(server) {
                let as_old_master = |from| self.grants.granted_after(from, &[*server]);
                self.by_old_masters += as_old_master(old_since).saturating_sub(as_old_master(since));
            }
        }
        if !others.is_empty() {
            self.first_old_master.get_or_insert(since);
        }
        for other in others {
            self.old_masters.entry(*other).or_insert(since);
        }
    }

    /// How many locks these servers have granted that were asked for after this time.
    pub fn granted_by(&self, servers: &[SocketAddr], since: i64) -> u64 {
        self.grants.granted_after(since, servers)
    }

    /// The consequence "granted by an old master", dated to the first old master; `None` without such grants.
    pub fn by_old_masters(&self) -> Option<Consequence> {
        let locks = self.granted_by_old_masters();
        let since = self.first_old_master.filter(|_| locks > 0)?;
        Some(Consequence {
            at: since as f64 / 1e6,
            event: None,
            kind: ConsequenceKind::GrantedByOldMaster { locks },
        })
    }

    /// How many locks old masters have granted after a new one was writable.
    pub fn granted_by_old_masters(&self) -> u64 {
        self.by_old_masters + self.grants.granted_by(&self.old_masters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::units::rounded;

    const SECOND: i64 = 1_000_000;

    impl Availability {
        fn take(&mut self, new: &Grants, now: i64) {
            self.add(new);
            self.drop_old_grants(now);
        }
    }

    fn server(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn grants(of: &[(i64, u16)]) -> Grants {
        let mut grants = Grants::default();
        for (at, port) in of {
            grants.count(*at, Some(server(*port)));
        }
        grants
    }

    const MS: i64 = 1000;
    const HOST: Option<Target> = Some(Target::Host(lockstorm_data::model::HostId(1)));

    /// What happens to the lock `key`, in milliseconds.
    fn tell(arm: &mut Availability, key: u64, what: &[(i64, ChangeKind)]) {
        arm.pending.extend(what.iter().map(|(at, what)| Change {
            at: at * MS,
            key_hash: key,
            kind: *what,
        }));
    }

    fn began(asked: i64, waited: bool) -> ChangeKind {
        let asked = asked * MS;
        ChangeKind::Began {
            begun: asked,
            asked,
            waited,
        }
    }

    fn refused(asked: i64) -> ChangeKind {
        ChangeKind::Refused {
            asked: asked * MS,
            lacks_nodes: true,
        }
    }

    const ENDED: ChangeKind = ChangeKind::Ended { is_dead: false };

    /// When the longest times began and how long they were, in milliseconds, with locks, refusals and the same of all locks.
    fn found(arm: &Availability, now: i64) -> Vec<(i64, u64, u64, u64, u64)> {
        let outages = arm.outages_and_consequences(now * MS).0.into_iter();
        let ms = |us: u64| us / 1000;
        outages
            .map(|one| {
                (
                    rounded(one.at * 1e3).cast_signed(),
                    ms(one.lasted_us),
                    one.locks,
                    one.refusals,
                    ms(one.all_us),
                )
            })
            .collect()
    }

    #[test]
    fn a_lock_is_unavailable_from_its_first_refusal_without_a_holder_to_the_next_grant_whatever_others_do() {
        let mut arm = Availability::default();
        tell(
            &mut arm,
            1,
            &[(0, began(0, false)), (2000, refused(1500)), (5000, ENDED)],
        );
        // What was asked before the end and answered after it says nothing.
        tell(
            &mut arm,
            1,
            &[(5010, refused(4990)), (5200, refused(5100)), (6000, refused(5900))],
        );
        tell(&mut arm, 2, &[(5500, began(5500, false)), (5600, ENDED)]);
        arm.settle(6000 * MS);
        assert_eq!(
            found(&arm, 6000),
            [(5100, 900, 1, 2, 100)],
            "it was refused for the last time then"
        );
        tell(&mut arm, 1, &[(7000, refused(6900)), (8000, began(7900, true))]);
        arm.settle(8000 * MS);
        // The other lock was granted meanwhile.
        assert_eq!(found(&arm, 8000), [(5100, 2900, 1, 3, 2100)]);
        assert!(arm.outages_and_consequences(8000 * MS).0[0].over);
        arm.settle(100_000 * MS);
        assert_eq!(found(&arm, 100_000), [(5100, 2900, 1, 3, 2100)], "it stays");
    }

    /// A host dies twice, and each lock is asked for every few seconds.
    #[test]
    fn a_lock_for_which_no_client_asks_while_others_are_granted_was_not_unavailable_all_the_time() {
        let outage = |is_granted: bool| {
            let mut arm = Availability::default();
            let refusals = [(8100, refused(8000)), (9000, refused(8500)), (14_100, refused(14_000))];
            tell(&mut arm, 1, &refusals);
            if is_granted {
                tell(&mut arm, 2, &[(12_000, began(12_000, false)), (12_100, ENDED)]);
            }
            tell(&mut arm, 1, &[(14_600, refused(14_500)), (17_000, began(16_900, true))]);
            arm.settle(18_000 * MS);
            let longest = arm.outages_and_consequences(18_000 * MS).0[0];
            (rounded(longest.at * 1e3), longest.lasted_us / 1000)
        };
        assert_eq!(outage(false), (8000, 9000));
        assert_eq!(outage(true), (14_000, 3000));
    }

    #[test]
    fn time_in_which_nobody_asks_and_a_hand_over_make_no_lock_unavailable() {
        let mut arm = Availability::default();
        tell(&mut arm, 1, &[(0, began(0, false)), (100, ENDED), (101, refused(100))]);
        // Nobody was refused between these two.
        tell(
            &mut arm,
            1,
            &[(5000, began(4999, false)), (5100, ENDED), (5105, began(5050, false))],
        );
        arm.settle(9000 * MS);
        assert_eq!(found(&arm, 9000), []);
        assert_eq!(arm.contested, 1, "one had asked before the lock was free");
        let mut arm = Availability::default();
        tell(&mut arm, 1, &[(1, began(-5, true))]);
        arm.settle(9000 * MS);
        assert_eq!(arm.contested, 0, "a request of the warm-up waited for nobody");
    }

    #[test]
    fn a_request_to_another_program_that_waits_counts_from_the_end_of_the_hold() {
        let mut arm = Availability::default();
        arm.set_ttl(Duration::from_secs(1));
        let dies = ChangeKind::Ended { is_dead: true };
        tell(
            &mut arm,
            1,
            &[(0, began(0, false)), (1000, ChangeKind::Asked), (3000, dies)],
        );
        tell(&mut arm, 2, &[(0, ChangeKind::Asked), (1, ChangeKind::Answered)]);
        arm.outage_from(
            3000 * MS,
            Some(Target::Server(lockstorm_data::model::ServerId(1))),
            None,
            Some(7),
        );
        arm.settle(9000 * MS);
        assert_eq!(found(&arm, 9000), [(3000, 6000, 0, 0, 6000)]);
        let outlived = |arm: &Availability, now: i64| {
            let kinds = arm
                .outages_and_consequences(now * MS)
                .1
                .into_iter()
                .map(|one| (one.event, one.kind));
            kinds.collect::<Vec<_>>()
        };
        let longest_us = 6_000_000;
        let kind = ConsequenceKind::OutlivedHolder { locks: 1, longest_us };
        assert_eq!(outlived(&arm, 9000), [(Some(7), kind)], "far beyond its TTL");
        assert_eq!(outlived(&arm, 6000), [], "twice the TTL and a second have not passed");
    }

    #[test]
    fn an_outage_belongs_to_the_last_fault_before_it_that_could_have_caused_it() {
        let mut arm = Availability::default();
        tell(
            &mut arm,
            1,
            &[
                (8010, refused(8005)),
                (9000, refused(8900)),
                (20_000, began(19_000, true)),
            ],
        );
        tell(&mut arm, 2, &[(12_020, refused(12_010)), (12_500, began(12_400, true))]);
        arm.outage_from(8000 * MS, HOST, Some(1), Some(3));
        arm.settle(14_000 * MS);
        // It becomes known late.
        arm.outage_from(12_000 * MS, HOST, Some(2), Some(5));
        let events = |arm: &Availability| {
            let outages = arm.outages_and_consequences(30_000 * MS).0.into_iter();
            outages.map(|one| (one.event, one.lasted_us / 1000)).collect::<Vec<_>>()
        };
        arm.settle(30_000 * MS);
        assert_eq!(events(&arm), [(Some(3), 11_995), (Some(5), 490)]);
        // Long after its end it explains nothing.
        arm.end_fault(13_000 * MS, Target::Host(lockstorm_data::model::HostId(1)));
        tell(&mut arm, 3, &[(31_000, refused(30_900)), (32_000, began(31_900, true))]);
        arm.settle(33_000 * MS);
        assert_eq!(found(&arm, 33_000)[0], (30_900, 1100, 1, 1, 0));
        assert_eq!(events(&arm)[0].0, None);
    }

    #[test]
    fn a_fault_tests_a_lock_only_if_it_refuses_or_delays_an_acquire() {
        let kinds = |took: i64, refuses: bool| {
            let mut arm = Availability::default();
            for n in 0..100 {
                let (at, took) = (n * 50, if n < 40 { 1 } else { took });
                tell(&mut arm, 1, &[(at + took, began(at, false)), (at + took + 1, ENDED)]);
            }
            tell(
                &mut arm,
                2,
                if refuses {
                    &[(
                        2500,
                        ChangeKind::Refused {
                            asked: 2400 * MS,
                            lacks_nodes: true,
                        },
                    )]
                } else {
                    &[]
                },
            );
            arm.outage_from(2000 * MS, HOST, Some(1), Some(3));
            arm.settle(4000 * MS);
            arm.end_fault(4000 * MS, Target::Host(lockstorm_data::model::HostId(1)));
            arm.settle(20_000 * MS);
            let kinds = arm
                .outages_and_consequences(20_000 * MS)
                .1
                .into_iter()
                .map(|one| one.kind);
            kinds.collect::<Vec<_>>()
        };
        assert_eq!(kinds(1, false), []);
        assert_eq!(kinds(5, false), [], "too little");
        assert!(matches!(
            kinds(30, false)[..],
            [ConsequenceKind::Delayed { by_us: 25_000..=29_000 }]
        ));
        assert_eq!(kinds(1, true), [ConsequenceKind::Refused { attempts: 1 }]);
    }

    #[test]
    fn only_what_others_grant_after_the_new_master_is_writable_counts() {
        let mut arm = Availability::default();
        let told = |arm: &Availability| arm.granted_by_old_masters();
        arm.take(&grants(&[(SECOND, 1), (2 * SECOND, 1)]), 2 * SECOND);
        assert_eq!(told(&arm), 0, "nobody is an old master");
        // It is noted a second later than it was.
        arm.new_master(SECOND + 500_000, &[server(2)], &[server(1)]);
        assert_eq!(told(&arm), 1);
        arm.take(&grants(&[(3 * SECOND, 1), (3 * SECOND, 2)]), 3 * SECOND);
        assert_eq!(told(&arm), 2);
        // And back: what the first one grants from then on is right again, and what it granted before is not.
        arm.new_master(4 * SECOND, &[server(1)], &[server(2)]);
        arm.take(&grants(&[(5 * SECOND, 1), (5 * SECOND, 2)]), 5 * SECOND);
        assert_eq!(told(&arm), 3);
        arm.take(&Grants::default(), 500 * SECOND);
        assert_eq!(told(&arm), 3, "what is not kept any more still counts");
    }

    #[test]
    fn masters_of_other_keys_are_no_old_masters() {
        let mut arm = Availability::default();
        arm.new_master(SECOND, &[server(4)], &[server(1)]);
        arm.take(
            &grants(&[(2 * SECOND, 1), (2 * SECOND, 2), (2 * SECOND, 4)]),
            2 * SECOND,
        );
        assert_eq!(arm.granted_by_old_masters(), 1);
        // Another one is replaced later; the first one is an old master since it was replaced.
        arm.new_master(3 * SECOND, &[server(5)], &[server(2)]);
        arm.take(
            &grants(&[(4 * SECOND, 1), (4 * SECOND, 2), (4 * SECOND, 3)]),
            4 * SECOND,
        );
        assert_eq!(arm.granted_by_old_masters(), 3);
    }
}
