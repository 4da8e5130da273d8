//! What the holds of one arm's lock prove, and the evidence of that.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arm_history::ArmHistory;
use super::availability::Availability;
use super::evidence::{Case, Evidence, length};
use super::server_hold::ServerHold;
use crate::oracle::holds::{Done, DoubleHold, Hold, HoldChange, Holds};
use crate::show::snapshot::LastLock;
use crate::under_test::{HeldLock, KeyLife};
use crate::workload::{Happened, HeldLocks, HoldNews};
use lockstorm_base::monotonic_ns;
use lockstorm_data::history::{self, Ruling};
use lockstorm_data::metrics::{Figures, Timeline, When};
use lockstorm_data::model::HostId;
use lockstorm_data::scenario::ArmSpec;
use lockstorm_judge::law::{Loss, LostKey, LostKeys, Newcomer, Takeover, VotedLock};

/// How long after a double hold its cause may still be found: a node that comes back is asked what it has lost.
const SETTLE: i64 = 5_000_000_000;

/// Double holds whose cause or end is waited for. There are only more if a lock is broken altogether.
const MOST_WAITING: usize = 10_000;

/// So many of the locks that were given back last are shown.
const LAST: usize = 10;

/// The judge of one arm's holds, and what it has found in the measured part.
#[derive(Debug)]
pub(crate) struct HoldAudit {
    /// Whether the lock has votes that can be lost.
    has_votes: bool,
    holds: Holds<ServerHold>,
    /// Empty, to be used again.
    spare: Vec<HoldNews>,
    losses: Vec<Loss>,
    /// When app servers, or their clients, were paused.
    pauses: Vec<Pause>,
    /// Whether there are losses that no ruling has taken into account.
    has_new_losses: bool,
    /// The servers that the arm's locks can be on, if who votes for them is not told.
    pub servers: Option<Vec<SocketAddr>>,
    /// Those that are not explained, or not over. One without a known cause waits to the end: a node may still tell what it has lost.
    waiting: Vec<Case>,
    evidence: Evidence,
    /// The holds that have ended last, with when they began and ended.
    last: VecDeque<(ServerHold, (i64, i64))>,
    /// What was not handed out yet.
    new: NewDoubles,
    double_holds: u64,
    double_uses: u64,
    double_uses_by_stalls: u64,
    violations: u64,
    unjudged: u64,
    expired: u64,
    deleted: u64,
    /// Those that are not kept, since there are too many.
    dropped: u64,
    covered: u64,
    first: Option<i64>,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct NewDoubles {
    /// When each double hold began.
    pub holds: Vec<When>,
    /// When each double use began.
    pub uses: Vec<When>,
    /// How long the double holds lasted that are over.
    pub overlaps: Vec<Duration>,
    /// The arm's first double hold, if it was found now.
    pub first: Option<FirstDouble>,
}

/// The locks that are held and valid and have lost a vote that they had not lost before. One that has kept nobody out before is none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hit {
    /// How many of them keep others out no longer.
    pub exposed: u64,
    /// How many still do.
    pub covered: u64,
    /// The fewest votes that one of those still has.
    pub votes: Option<usize>,
}

impl Hit {
    /// What both have hit.
    pub fn and(self, other: Self) -> Self {
        Self {
            exposed: self.exposed + other.exposed,
            covered: self.covered + other.covered,
            votes: self.votes.into_iter().chain(other.votes).min(),
        }
    }
}

/// The first double hold of an arm.
#[derive(Debug)]
pub(crate) struct FirstDouble {
    /// When it began, in microseconds of the measured part.
    pub began_us: i64,
    /// The names of the holders.
    pub holders: [String; 2],
    /// The key of the lock.
    pub key: String,
}

impl HoldAudit {
    /// The judge of an arm; `seed` chooses what evidence is kept.
    pub fn new(arm: &ArmSpec, seed: u64) -> Self {
        Self {
            has_votes: arm.lock.uses_nodes(),
            servers: None,
            holds: Holds::default(),
            spare: Vec::new(),
            losses: Vec::new(),
            pauses: Vec::new(),
            has_new_losses: false,
            waiting: Vec::new(),
            evidence: Evidence::new(seed),
            last: VecDeque::new(),
            new: NewDoubles::default(),
            double_holds: 0,
            double_uses: 0,
            double_uses_by_stalls: 0,
            violations: 0,
            unjudged: 0,
            expired: 0,
            deleted: 0,
            dropped: 0,
            covered: 0,
            first: None,
        }
    }

    /// Judges what has happened on the app servers since the last look, and lets the history have it, if there is one, and what is to be
    /// known of `availability`. Every hold is kept
    /// until the next look, and who acquires a lock must not have to wait for memory that is in no cache.
    pub fn look(
        &mut self,
        servers: impl Iterator<Item = Arc<HeldLocks>>,
        timeline: &Timeline,
        mut history: Option<&mut ArmHistory>,
        availability: &mut Availability,
    ) {
        // Read first: what happened until then is in the buffers.
        let now = Instant::now();
        let known = monotonic_ns(now);
        let ended = self.holds.done().iter().rev();
        let ended = ended.filter_map(|Done { hold, lasted }| Some((hold.clone(), (*lasted)?)));
        let ended: Vec<_> = ended.take(LAST).collect();
        self.last.extend(ended.into_iter().rev());
        self.last.drain(..self.last.len().saturating_sub(LAST));
        for (index, held) in servers.enumerate() {
            let done = self.holds.done().extract_if(.., |done| done.hold.server == index + 1);
            let mut news = held.news(std::mem::take(&mut self.spare), done.map(|done| done.hold.hold));
            if let Some(history) = &mut history {
                history.note(index + 1, &news);
            }
            self.holds.tell(news.drain(..).filter_map(|news| {
                let at = timeline.micros(news.at);
                availability.push(at, news.key_hash, &news.what, |at| timeline.micros(at));
                let HoldNews {
                    at,
                    number,
                    key_hash,
                    what,
                } = news;
                let (hold, ends) = match what {
                    Happened::Began(hold) => (hold, false),
                    Happened::Ended(hold) => (hold, true),
                    _ => return None,
                };
                Some(HoldChange {
                    at: monotonic_ns(at),
                    hold: ServerHold {
                        server: index + 1,
                        number,
                        key_hash,
                        hold,
                    },
                    ends,
                })
            }));
            self.spare = news;
        }
        if let Some(history) = history {
            history.write(known);
        }
        let found = self.holds.judge(known);
        availability.settle(timeline.micros(now));
        let origin = timeline.origin().map_or(known, monotonic_ns);
        let when = |at: i64| timeline.when_micros((at - origin).div_euclid(1000));
        let new = &mut self.new;
        let (holds, before) = (new.holds.len(), new.uses.len());
        new.holds
            .extend(found.double_holds.iter().map(|double| when(double.second_from)));
        new.uses.extend(found.double_uses.into_iter().map(when));
        new.overlaps
            .extend(found.over.iter().filter_map(DoubleHold::overlap).map(length));
        self.double_holds += (new.holds.len() - holds) as u64;
        self.double_uses += (new.uses.len() - before) as u64;
        self.double_uses_by_stalls += found.uses_by_stalls;
        for double in found.double_holds {
            if self.first.is_none() {
                let began_us = (double.second_from - origin).div_euclid(1000);
                self.first = Some(began_us);
                new.first = Some(FirstDouble {
                    began_us,
                    holders: [&double.first, &double.second].map(|hold| hold.holder().to_string()),
                    key: double.first.key().to_string(),
                });
            }
            if self.waiting.len() < MOST_WAITING {
                self.waiting.push(Case {
                    double,
                    ruling: None,
                    lost: Vec::new(),
                    is_removed: false,
                    is_over: false,
                });
            } else {
                self.dropped += u64::from(self.has_votes);
            }
        }
        for double in found.over {
            if let Some(case) = self.waiting.iter_mut().find(|case| case.double.number == double.number) {
                (case.double, case.is_over) = (double, true);
            }
        }
    }

    /// What was found since the last time. Rules on what can be ruled on by now.
    pub fn take(&mut self) -> NewDoubles {
        self.rule(monotonic_ns(Instant::now()) - SETTLE);
        std::mem::take(&mut self.new)
    }

    /// Rules on the double holds whose cause is known, and on all that began before `settled`.
    fn rule(&mut self, settled: i64) {
        let again = std::mem::take(&mut self.has_new_losses);
        for case in &mut self.waiting {
            let is_open = case.ruling.is_none() || again && case.ruling != Some(Ruling::Explained);
            let DoubleHold {
                first,
                second,
                second_from: at,
                ..
            } = &case.double;
            let [voters, next] = [first, second].map(ServerHold::voters);
            let newcomer = Newcomer {
                at: *at,
                voters: Some(&next),
            };
            let rule = |lock: VotedLock<'_>| (lock.ruling(&newcomer, &self.losses), lock.lost(&newcomer, &self.losses));
            let ruled = is_open
                .then(|| first.voted(&voters, case.double.first_until, rule))
                .flatten();
            let Some((ruling, lost)) = ruled else { continue };
            if ruling == Ruling::Explained || *at < settled {
                let (ruling, is_removed) = match ruling {
                    Ruling::Violation => unexplained(&case.double, &self.pauses),
                    // The lock of another program may have deleted its keys itself.
                    Ruling::Deleted if matches!(case.double.first.hold.lock, Some(HeldLock::Other(_))) => {
                        (Ruling::Unknown, false)
                    }
                    other => (other, false),
                };
                (case.ruling, case.lost, case.is_removed) = (Some(ruling), lost, is_removed);
            }
        }
        let ruled = |ruling| self.waiting.iter().filter(|case| case.ruling == Some(ruling)).count() as u64;
        self.violations = ruled(Ruling::Violation);
        (self.expired, self.deleted) = (ruled(Ruling::Expired), ruled(Ruling::Deleted));
        self.unjudged = ruled(Ruling::Unknown) + self.dropped;
        let has_votes = self.has_votes;
        let is_closed = |case: &mut Case| case.is_over && (case.ruling == Some(Ruling::Explained) || !has_votes);
        for case in self.waiting.extract_if(.., is_closed) {
            self.evidence.add(case);
        }
    }

    /// Rules on all that is left: nothing more will be known.
    pub fn close(&mut self) {
        self.rule(i64::MAX);
        for case in self.waiting.extract_if(.., |case| case.is_over) {
            self.evidence.add(case);
        }
    }

    /// Whether keys of its locks may have been lost.
    pub const fn has_lost_keys(&self) -> bool {
        !self.losses.is_empty()
    }

    /// Takes in what a node has lost, and tells which locks that hits. What the servers in `down` had is lost, too, but lets nobody in before
    /// they are back.
    pub fn lost(&mut self, loss: Loss, down: &[SocketAddr]) -> Hit {
        let newcomer = Newcomer {
            at: monotonic_ns(Instant::now()),
            voters: None,
        };
        let mut hit = Hit::default();
        if !self.is_its(&loss.servers) {
            return hit;
        }
        self.losses.push(loss);
        self.has_new_losses = true;
        // What nobody can see is not counted.
        let is_seen = |loss: &&Loss| !matches!(loss.keys, LostKeys::Early { .. });
        let seen: Vec<Loss> = self.losses.iter().filter(is_seen).cloned().collect();
        let (new, old) = seen
            .split_last()
            .map_or((&[][..], &[][..]), |(last, old)| (std::slice::from_ref(last), old));
        for hold in self.holds.open() {
            let voters = hold.voters();
            let look = |lock: VotedLock<'_>| {
                // Of a lock that does not say who voted for it a loss is certain if it alone lets a second holder in.
                let is_lost = |losses: &[Loss]| {
                    lock.voters.is_empty()
                        && matches!(lock.ruling(&newcomer, losses), Ruling::Explained | Ruling::Deleted)
                };
                let lost_before = lock.lost(&newcomer, old);
                let is_new = |key: &LostKey| !lost_before.iter().any(|before| before.server == key.server);
                let is_hit = lock.lost(&newcomer, new).iter().any(is_new) || is_lost(new) && !is_lost(old);
                let was_open =
                    !old.is_empty() && matches!(lock.ruling(&newcomer, old), Ruling::Explained | Ruling::Deleted);
                let votes = || {
                    let lost = lock.lost(&newcomer, &seen);
                    let has_it =
                        |voter: &&SocketAddr| !down.contains(voter) && !lost.iter().any(|lost| lost.server == **voter);
                    lock.voters.iter().filter(has_it).count()
                };
                (is_hit && !was_open).then(|| (lock.ruling(&newcomer, &seen), votes()))
            };
            let is_valid = hold.relied_until().is_none_or(|until| until > newcomer.at);
            match hold.voted(&voters, None, look).flatten().filter(|_| is_valid) {
                Some((Ruling::Violation, votes)) => {
                    hit.covered += 1;
                    hit.votes = Some(hit.votes.map_or(votes, |fewest| fewest.min(votes)));
                    self.covered += u64::from(hold.hold.measured);
                }
                Some((Ruling::Explained | Ruling::Deleted | Ruling::Unknown, _)) => hit.exposed += 1,
                Some((Ruling::Expired, _)) | None => {}
            }
        }
        hit
    }

    /// Takes in that a node may have lost keys, or lose them, of which nobody can tell.
    pub fn may_have_lost(&mut self, loss: Loss) {
        if self.is_its(&loss.servers) {
            self.losses.push(loss);
            self.has_new_losses = true;
        }
    }

    /// Takes in that an app server, or its client, is paused since `at`, or keeps running from then on.
    pub fn paused(&mut self, server: usize, at: Instant, begins: bool) {
        let at = monotonic_ns(at);
        if begins {
            self.pauses.push(Pause {
                server,
                from: at,
                until: i64::MAX,
            });
        } else {
            for pause in self.pauses.iter_mut().filter(|pause| pause.server == server) {
                pause.until = pause.until.min(at);
            }
        }
    }

    /// Takes in that a replica has become the master.
    pub fn takes_over(&mut self, takeover: Takeover) {
        if self.is_its(&takeover.old) || self.is_its(&takeover.new) {
            takeover.add_to(&mut self.losses);
            self.has_new_losses = true;
        }
    }

    /// Whether its locks can be on one of these servers.
    fn is_its(&self, servers: &[SocketAddr]) -> bool {
        let of_arm = self.servers.as_ref();
        of_arm.is_none_or(|of_arm| servers.iter().any(|server| of_arm.contains(server)))
    }

    /// Fills in the figures.
    pub fn fill(&self, figures: &mut Figures) {
        figures.double_holds = self.double_holds;
        figures.double_uses = self.double_uses;
        figures.double_uses_by_stalls = self.double_uses_by_stalls;
        figures.law_violations = self.violations;
        figures.expired_holds = self.expired;
        figures.deleted = self.deleted;
        figures.unjudged = self.unjudged;
        figures.covered = self.covered;
        figures.first_double_hold_us = self.first;
    }

    /// The evidence of the first double holds, as far as it is new since the last call; of those whose cause was waited for.
    pub fn unwritten(
        &mut self,
        timeline: &Timeline,
        host: impl Fn(SocketAddr) -> Option<HostId>,
    ) -> Vec<history::DoubleHold> {
        let origin = timeline.origin().map(monotonic_ns);
        origin.map_or_else(Vec::new, |origin| self.evidence.unwritten(&self.waiting, origin, host))
    }

    /// The evidence of some double holds, as far as it is known by now, in the order in which they were found.
    pub fn shown(&self, timeline: &Timeline, host: impl Fn(SocketAddr) -> Option<HostId>) -> Vec<history::DoubleHold> {
        let origin = timeline.origin().map(monotonic_ns);
        origin.map_or_else(Vec::new, |origin| self.evidence.shown(&self.waiting, origin, host))
    }

    /// The locks that were given back last, oldest first.
    pub fn last_locks(&self, timeline: &Timeline, host: impl Fn(SocketAddr) -> Option<HostId>) -> Vec<LastLock> {
        let Some(origin) = timeline.origin().map(monotonic_ns) else {
            return Vec::new();
        };
        let told = |(hold, (from, until)): &(ServerHold, (i64, i64))| LastLock {
            key: hold.key().to_owned(),
            belief: hold.told(*from, Some(*until), origin, &host),
        };
        self.last.iter().map(told).collect()
    }

    /// The evidence, in the order in which it was found; `host` tells which host a server is on.
    pub fn evidence(
        &self,
        timeline: &Timeline,
        host: impl Fn(SocketAddr) -> Option<HostId>,
    ) -> Vec<history::DoubleHold> {
        let origin = timeline.origin().map(monotonic_ns);
        origin.map_or_else(Vec::new, |origin| self.evidence.told(&self.waiting, origin, host))
    }
}

/// A part of the TTL: the second holder may have come in so much before its end by our clock if the reply to the first was late.
const LATE_REPLY: i64 = 20;
/// A part of the TTL: an acquire that waited was granted no longer before its reply, unless its app server was paused.
const LONGEST_REPLY: i64 = 2;

/// An app server, or its client, was paused.
#[derive(Debug)]
struct Pause {
    /// The number of the app server, from 1.
    server: usize,
    from: i64,
    until: i64,
}

/// Whether the lock of this holder had ended before the next one got it `at` then, and its release was answered as if it had not.
fn released_late(hold: &ServerHold, at: i64) -> bool {
    let Some(lock) = hold.hold.lock.as_ref().filter(|lock| lock.was_released()) else {
        return false;
    };
    let is_lost = hold.relied_until().is_some_and(|until| until <= at);
    let life = lock.key_life().filter(|life| !life.is_renewed);
    is_lost || life.is_some_and(|life| is_over(life, at))
}

/// Whether the TTL is over, at this time of the next holder's reply.
fn is_over(life: KeyLife, at: i64) -> bool {
    let ttl = i64::try_from(life.ttl.as_nanos()).unwrap_or(i64::MAX);
    at >= monotonic_ns(life.set[1]).saturating_add(ttl - ttl / LATE_REPLY)
}

/// What is said of a double hold that no lost key explains, and whether a release has most likely removed the key. A client does not say
/// when its key was set: some time between order and answer.
fn unexplained(double: &DoubleHold<ServerHold>, pauses: &[Pause]) -> (Ruling, bool) {
    let (at, lock) = (double.second_from, |hold: &ServerHold| hold.hold.lock.clone());
    let is_removed = double
        .overtaken
        .as_ref()
        .is_some_and(|(hold, _)| released_late(hold, double.first_from));
    let Some(life) = lock(&double.first).and_then(|lock| lock.key_life()) else {
        return (Ruling::Violation, is_removed);
    };
    let was_paused = |hold: &ServerHold, [from, until]: [i64; 2]| {
        let meets = |pause: &Pause| pause.server == hold.server && pause.from < until && from < pause.until;
        pauses.iter().any(meets)
    };
    let ([asked, answered], ttl) = (
        life.set.map(monotonic_ns),
        i64::try_from(life.ttl.as_nanos()).unwrap_or(i64::MAX),
    );
    if life.is_renewed && !was_paused(&double.first, [asked, at]) {
        return (Ruling::Violation, is_removed);
    }
    if is_over(life, at) {
        return (Ruling::Expired, false);
    }
    let earliest_end = |hold: &ServerHold, [asked, answered]: [i64; 2]| {
        let set = match was_paused(hold, [asked, answered]) {
            true => asked,
            false => asked.max(answered - ttl / LONGEST_REPLY),
        };
        set.saturating_add(ttl)
    };
    let second = &double.second;
    let second_asked = lock(second).map_or(at, |lock| monotonic_ns(lock.asked()));
    let both_live =
        at < earliest_end(&double.first, [asked, answered]) && at < earliest_end(second, [second_asked, at]);
    match both_live || is_removed {
        true => (Ruling::Violation, is_removed),
        false => (Ruling::Unknown, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::under_test::{Granted, OtherHold};
    use crate::workload::Sold;
    use lockstorm_data::history::BeliefSale;
    use lockstorm_data::scenario::{Overrides, Source, parse};
    use lockstorm_judge::law::LostKeys;

    fn server() -> SocketAddr {
        ([127, 0, 0, 1], 7001).into()
    }

    /// A held lock of one node, without end.
    fn lock(token: &str) -> HeldLock {
        lock_on(server(), token)
    }

    fn lock_on(server: SocketAddr, token: &str) -> HeldLock {
        let voters = vec![server];
        other(Granted {
            voters,
            ..granted(token)
        })
    }

    /// A lock of one node that is granted now, without end, and does not say who voted for it.
    fn granted(token: &str) -> Granted {
        Granted {
            key: "k".to_owned(),
            number: 0,
            token: token.to_owned(),
            asked: Instant::now(),
            voters: Vec::new(),
            nodes: 1,
            fence: None,
            ttl: None,
            is_renewed: false,
        }
    }

    fn other(granted: Granted) -> HeldLock {
        HeldLock::Other(Arc::new(OtherHold::new(granted, None)))
    }

    #[test]
    fn a_node_that_tells_late_what_it_has_lost_still_explains_a_double_hold() {
        let source = Source::open("single-vs-redlock").unwrap();
        let scenario = parse(&source, &Overrides::default()).unwrap();
        let (mut audit, held) = (HoldAudit::new(&scenario.arms[0], 1), Arc::new(HeldLocks::default()));
        let timeline = Timeline::from(Instant::now());
        let died = monotonic_ns(Instant::now());
        let first = held.enter(1, true, Instant::now(), "k", Some(lock("one")));
        let second = held.enter(2, true, Instant::now(), "k", Some(lock("two")));
        second.sold(Sold { at_us: 7, left: 3 });
        drop((first, second));
        audit.look(
            [Arc::clone(&held)].into_iter(),
            &timeline,
            None,
            &mut Availability::default(),
        );
        let first = audit.take().first.unwrap();
        assert_eq!(
            (first.holders, first.key.as_str()),
            (["s1w1", "s1w2"].map(str::to_owned), "k")
        );
        let third = held.enter(3, true, Instant::now(), "other", Some(lock("three")));
        audit.look(
            [Arc::clone(&held)].into_iter(),
            &timeline,
            None,
            &mut Availability::default(),
        );
        assert!(audit.take().first.is_none());
        drop(third);
        let figures = |audit: &HoldAudit| {
            let mut figures = Figures::default();
            audit.fill(&mut figures);
            (figures.double_holds, figures.law_violations, figures.unjudged)
        };
        assert_eq!(figures(&audit), (1, 0, 0), "its cause may still be found");
        let unwritten = |audit: &mut HoldAudit| {
            let told = audit.unwritten(&timeline, |_| Some(HostId(1))).into_iter();
            told.map(|double| (double.number, double.ruling)).collect::<Vec<_>>()
        };
        assert_eq!(unwritten(&mut audit), []);
        audit.rule(i64::MAX);
        assert_eq!(figures(&audit), (1, 1, 0));
        assert_eq!(unwritten(&mut audit), [(1, Some(Ruling::Violation))]);
        let loss = |keys| Loss {
            servers: vec![server()],
            event: Some(3),
            masters: Vec::new(),
            since: died,
            asked_from: i64::MIN,
            asked_before: i64::MAX,
            keys,
        };
        audit.lost(loss(LostKeys::Unknown), &[]);
        audit.rule(i64::MAX);
        assert_eq!(figures(&audit), (1, 0, 1));
        audit.lost(loss(LostKeys::All), &[]);
        audit.close();
        assert_eq!(figures(&audit), (1, 0, 0));
        assert_eq!(unwritten(&mut audit), [(1, Some(Ruling::Explained))], "it is told anew");
        assert_eq!(unwritten(&mut audit), []);
        let evidence = audit.evidence(&timeline, |_| Some(HostId(1)));
        assert_eq!((evidence.len(), evidence[0].ruling), (1, Some(Ruling::Explained)));
        assert_eq!(
            (evidence[0].first.holder.worker, evidence[0].second.holder.worker),
            (1, 2)
        );
        assert_eq!(evidence[0].lost.len(), 1);
        let sale = BeliefSale { at_us: 7, left: 3 };
        assert_eq!((evidence[0].first.sale, evidence[0].second.sale), (None, Some(sale)));
    }

    const fn exposed(exposed: u64) -> Hit {
        Hit {
            exposed,
            covered: 0,
            votes: None,
        }
    }

    #[test]
    fn a_vote_on_a_node_that_is_down_and_keeps_nothing_is_no_vote_that_was_kept() {
        let source = Source::open("single-vs-redlock").unwrap();
        let scenario = parse(&source, &Overrides::default()).unwrap();
        let nodes: [SocketAddr; 3] = [7001, 7002, 7003].map(|port| ([127, 0, 0, 1], port).into());
        let bounced = |down: &[SocketAddr]| {
            let (mut audit, held) = (HoldAudit::new(&scenario.arms[1], 1), Arc::new(HeldLocks::default()));
            let lock = Granted {
                nodes: 3,
                voters: nodes.to_vec(),
                ..granted("one")
            };
            let _holder = held.enter(1, true, Instant::now(), "k", Some(other(lock)));
            let timeline = Timeline::from(Instant::now());
            audit.look(
                [Arc::clone(&held)].into_iter(),
                &timeline,
                None,
                &mut Availability::default(),
            );
            let loss = Loss {
                servers: vec![nodes[0]],
                event: Some(3),
                masters: Vec::new(),
                since: monotonic_ns(Instant::now()),
                asked_from: i64::MIN,
                asked_before: i64::MAX,
                keys: LostKeys::All,
            };
            audit.lost(loss, down)
        };
        let kept = |votes| Hit {
            exposed: 0,
            covered: 1,
            votes: Some(votes),
        };
        // Nobody gets a vote of the node that is down, so two votes are not needed to keep others out.
        assert_eq!([bounced(&[]), bounced(&nodes[1..2])], [kept(2), kept(1)]);
        assert_eq!(bounced(&nodes[..1]), kept(2), "the same node twice");
    }

    #[test]
    fn a_vote_that_is_lost_is_not_lost_again_when_its_node_comes_back_once_more() {
        let source = Source::open("single-vs-redlock").unwrap();
        let scenario = parse(&source, &Overrides::default()).unwrap();
        for voters in [vec![server()], Vec::new()] {
            let (mut audit, held) = (HoldAudit::new(&scenario.arms[0], 1), Arc::new(HeldLocks::default()));
            let timeline = Timeline::from(Instant::now());
            let lock = Granted {
                voters,
                ..granted("one")
            };
            let _holder = held.enter(1, true, Instant::now(), "k", Some(other(lock)));
            let mut bounce = || {
                audit.look(
                    [Arc::clone(&held)].into_iter(),
                    &timeline,
                    None,
                    &mut Availability::default(),
                );
                audit.lost(
                    Loss {
                        servers: vec![server()],
                        event: Some(3),
                        masters: Vec::new(),
                        since: monotonic_ns(Instant::now()),
                        asked_from: i64::MIN,
                        asked_before: i64::MAX,
                        keys: LostKeys::All,
                    },
                    &[],
                )
            };
            assert_eq!([bounce(), bounce()], [exposed(1), exposed(0)]);
        }
    }

    /// Of a lock that does not say who voted for it, as those of other programs.
    #[test]
    fn a_lock_on_one_node_is_forgotten_with_its_keys_though_it_names_no_voter_and_one_on_three_is_not() {
        let source = Source::open("single-vs-redlock").unwrap();
        let scenario = parse(&source, &Overrides::default()).unwrap();
        let forgotten = |nodes, keys| {
            let (mut audit, held) = (HoldAudit::new(&scenario.arms[0], 1), Arc::new(HeldLocks::default()));
            let lock = other(Granted { nodes, ..granted("") });
            let _holder = held.enter(1, true, Instant::now(), "k", Some(lock));
            audit.look(
                [Arc::clone(&held)].into_iter(),
                &Timeline::from(Instant::now()),
                None,
                &mut Availability::default(),
            );
            audit.lost(
                Loss {
                    servers: vec![server()],
                    event: Some(3),
                    masters: Vec::new(),
                    since: monotonic_ns(Instant::now()),
                    asked_from: i64::MIN,
                    asked_before: i64::MAX,
                    keys,
                },
                &[],
            )
        };
        assert_eq!(forgotten(1, LostKeys::All), exposed(1));
        assert_eq!(forgotten(1, LostKeys::Unknown), exposed(0));
        assert_eq!(
            forgotten(3, LostKeys::All),
            exposed(0),
            "which nodes have voted is not known"
        );
    }

    /// A lock of another program, which says nothing of its end.
    fn of_client(asked: Instant, ttl: Duration, is_renewed: bool) -> Arc<OtherHold> {
        let granted = Granted {
            asked,
            ttl: Some(ttl),
            is_renewed,
            ..granted("")
        };
        Arc::new(OtherHold::new(granted, None))
    }

    /// Two hold one lock; the second one comes in at once. `between` happens to the first before that.
    fn ruled(first: &Arc<OtherHold>, between: impl FnOnce(&mut HoldAudit)) -> Option<Ruling> {
        let source = Source::open("single-vs-redlock").unwrap();
        let scenario = parse(&source, &Overrides::default()).unwrap();
        let (mut audit, held) = (HoldAudit::new(&scenario.arms[0], 1), Arc::new(HeldLocks::default()));
        let one = held.enter(1, true, Instant::now(), "k", Some(HeldLock::Other(Arc::clone(first))));
        between(&mut audit);
        let second = of_client(Instant::now(), Duration::from_mins(1), false);
        let other = held.enter(2, true, Instant::now(), "k", Some(HeldLock::Other(second)));
        drop((one, other));
        let timeline = Timeline::from(Instant::now());
        audit.look([held].into_iter(), &timeline, None, &mut Availability::default());
        audit.close();
        audit.evidence(&timeline, |_| None)[0].ruling
    }

    #[test]
    fn a_lock_whose_ttl_is_over_has_expired_and_one_that_is_extended_or_young_has_not() {
        let (now, minute) = (Instant::now(), Duration::from_mins(1));
        let over = Duration::ZERO;
        assert_eq!(ruled(&of_client(now, over, false), |_| ()), Some(Ruling::Expired));
        assert_eq!(ruled(&of_client(now, minute, false), |_| ()), Some(Ruling::Violation));
        // It was asked for long ago: when its key was set in the meantime is not known, but hardly that long before the answer.
        let long_ago = now.checked_sub(2 * minute).unwrap();
        assert_eq!(
            ruled(&of_client(long_ago, minute, false), |_| ()),
            Some(Ruling::Violation)
        );
        // Whose app server was paused meanwhile may have got its answer at any time.
        let paused = |audit: &mut HoldAudit| {
            // Holds of these tests are of app server 1.
            audit.paused(1, long_ago + Duration::from_secs(1), true);
            audit.paused(1, now, false);
        };
        assert_eq!(
            ruled(&of_client(long_ago, minute, false), paused),
            Some(Ruling::Unknown)
        );
        // Of one that its client renews it is not known when it ends, unless nobody renews it any more.
        assert_eq!(ruled(&of_client(now, over, true), |_| ()), Some(Ruling::Violation));
        let gone = of_client(now, over, true);
        gone.abandon();
        assert_eq!(ruled(&gone, |_| ()), Some(Ruling::Expired));
        let stands_still = |audit: &mut HoldAudit| audit.paused(1, now, true);
        assert_eq!(ruled(&of_client(now, over, true), stands_still), Some(Ruling::Expired));
    }

    #[test]
    fn an_extension_puts_the_end_of_a_ttl_off() {
        let ttl = Duration::from_millis(100);
        for extends in [false, true] {
            let hold = of_client(Instant::now(), ttl, false);
            std::thread::sleep(ttl);
            if extends {
                hold.extended(Some(Instant::now()));
            }
            // Between the extension and the next hold this thread may be late by no more than half of the TTL; where it is, nothing is shown.
            let ruling = ruled(&hold, |_| ());
            match extends {
                false => assert_eq!(ruling, Some(Ruling::Expired)),
                true => assert!(ruling == Some(Ruling::Violation) || hold.granted.asked.elapsed() > ttl + ttl / 2),
            }
        }
    }

    #[test]
    fn a_late_release_that_was_answered_as_released_is_named() {
        let source = Source::open("single-vs-redlock").unwrap();
        let scenario = parse(&source, &Overrides::default()).unwrap();
        let removed = [(false, 0), (true, 0), (true, 1)].map(|(is_released, minutes)| {
            let (mut audit, held) = (HoldAudit::new(&scenario.arms[0], 1), Arc::new(HeldLocks::default()));
            // The first one's TTL is over when the second one comes, or it is not.
            let locks = [minutes, 1, 1].map(|minutes| of_client(Instant::now(), Duration::from_mins(minutes), false));
            let [first, second, third] = &locks;
            let enter = |worker, lock: &Arc<OtherHold>| {
                held.enter(
                    worker,
                    true,
                    Instant::now(),
                    "k",
                    Some(HeldLock::Other(Arc::clone(lock))),
                )
            };
            let one = enter(1, first);
            let two = enter(2, second);
            drop(one);
            if is_released {
                first.released();
            }
            let three = enter(3, third);
            drop((two, three));
            let timeline = Timeline::from(Instant::now());
            audit.look(
                [Arc::clone(&held)].into_iter(),
                &timeline,
                None,
                &mut Availability::default(),
            );
            audit.close();
            let evidence = audit.evidence(&timeline, |_| None);
            let by = evidence
                .iter()
                .map(|double| double.removed_by.as_ref().map(|removal| removal.holder.worker));
            by.collect::<Vec<_>>()
        });
        assert_eq!(removed, [vec![None, None], vec![None, Some(1)], vec![None, None]]);
    }

    #[test]
    fn a_node_that_the_locks_are_not_on_explains_nothing() {
        let source = Source::open("single-vs-redlock").unwrap();
        let scenario = parse(&source, &Overrides::default()).unwrap();
        let violations = [7001, 7002].map(|port| {
            let (mut audit, held) = (HoldAudit::new(&scenario.arms[0], 1), Arc::new(HeldLocks::default()));
            audit.servers = Some(vec![server()]);
            let (first, second) = (
                held.enter(1, true, Instant::now(), "k", Some(lock("one"))),
                held.enter(2, true, Instant::now(), "k", Some(lock("two"))),
            );
            drop((first, second));
            audit.look(
                [held].into_iter(),
                &Timeline::from(Instant::now()),
                None,
                &mut Availability::default(),
            );
            audit.lost(
                Loss {
                    servers: vec![([127, 0, 0, 1], port).into()],
                    event: None,
                    masters: Vec::new(),
                    since: i64::MIN,
                    asked_from: i64::MIN,
                    asked_before: i64::MAX,
                    keys: LostKeys::Unknown,
                },
                &[],
            );
            audit.close();
            let mut figures = Figures::default();
            audit.fill(&mut figures);
            (figures.double_holds, figures.law_violations, figures.unjudged)
        });
        assert_eq!(violations, [(1, 0, 1), (1, 1, 0)]);
    }

    #[test]
    fn of_two_masters_each_lacks_what_the_other_one_grants() {
        let source = Source::open("failover").unwrap();
        let scenario = parse(&source, &Overrides::default()).unwrap();
        let other = SocketAddr::from(([127, 0, 0, 1], 7002));
        let found = [[server(), other], [other, server()], [server(), server()]].map(|servers| {
            let (mut audit, held) = (HoldAudit::new(&scenario.arms[1], 1), Arc::new(HeldLocks::default()));
            let now = monotonic_ns(Instant::now());
            audit.takes_over(Takeover {
                new: vec![other],
                old: vec![server()],
                replica: now,
                writable: now,
                lacks: LostKeys::Unknown,
            });
            let [one, two] = servers.map(|server| Some(lock_on(server, "t")));
            let first = held.enter(1, true, Instant::now(), "k", one);
            let second = held.enter(2, true, Instant::now(), "k", two);
            drop((first, second));
            let timeline = Timeline::from(Instant::now());
            audit.look([held].into_iter(), &timeline, None, &mut Availability::default());
            audit.close();
            let mut figures = Figures::default();
            audit.fill(&mut figures);
            let evidence = audit.evidence(&timeline, |server| Some(HostId(usize::from(server.port()))));
            let lost = evidence[0].lost.first();
            (
                figures.law_violations,
                lost.map(|lost| (lost.host, lost.new_master, lost.old_master)),
            )
        });
        let [one, two] = [Some(7001), Some(7002)];
        assert_eq!(
            found,
            [(0, Some((one, two, None))), (0, Some((two, None, one))), (1, None)]
        );
    }
}
