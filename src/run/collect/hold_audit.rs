//! What the holds of one arm's lock prove, and the evidence of that.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::collect::arm_history::ArmHistory;
use crate::oracle::holds::{DoubleHold, Hold, HoldChange, Holds};
use crate::oracle::law::{Loss, VotedLock};
use crate::under_test::HeldLock;
use crate::workload::{Happened, HeldLocks, HoldNews, LiveHold};
use lockstorm_base::monotonic_ns;
use lockstorm_data::history::{self, Belief, Holder, LostVote, Ruling};
use lockstorm_data::metrics::{Figures, Timeline, When};
use lockstorm_data::model::HostId;
use lockstorm_data::scenario::ArmSpec;

/// How long after a double hold its cause may still be found: a node that comes back is asked what it has lost.
const SETTLE: i64 = 5_000_000_000;

/// Of so many double holds the evidence is kept: the first ones, a random choice of the others, and the longest.
const FIRST: usize = 50;
const CHOICE: usize = 50;
const LONGEST: usize = 10;

/// Double holds whose cause or end is waited for. There are only more if a lock is broken altogether.
const MOST_WAITING: usize = 10_000;

/// A hold of one of the app servers.
#[derive(Debug, Clone)]
struct ServerHold {
    server: usize,
    hold: Arc<LiveHold>,
    /// Whether arms of its kind believe anything: those without a lock don't.
    believes: bool,
}

impl Hold for ServerHold {
    type Id = (usize, u64);

    fn id(&self) -> (usize, u64) {
        (self.server, self.hold.number)
    }

    fn key(&self) -> &str {
        self.hold.key()
    }

    fn counts(&self) -> bool {
        self.hold.measured
    }

    fn relied_until(&self) -> Option<i64> {
        match self.believes {
            true => self.hold.relied_until().map(monotonic_ns),
            false => Some(i64::MIN),
        }
    }
}

/// A double hold with what is known of its cause.
#[derive(Debug, Clone)]
struct Case {
    double: DoubleHold<ServerHold>,
    /// `None` as long as its cause may still be found, and for a lock without votes.
    ruling: Option<Ruling>,
    /// The votes that the first one had lost.
    lost: Vec<(SocketAddr, Option<u64>)>,
    is_over: bool,
}

/// The judge of one arm's holds, and what it has found in the measured part.
#[derive(Debug)]
pub(crate) struct HoldAudit {
    believes: bool,
    /// Whether the lock has votes that can be lost.
    has_votes: bool,
    holds: Holds<ServerHold>,
    /// Empty, to be used again.
    spare: Vec<HoldNews>,
    losses: Vec<Loss>,
    /// Whether there are losses that no ruling has taken into account.
    has_new_losses: bool,
    /// Those that are not explained, or not over. One without a known cause waits to the end: a node may still tell what it has lost.
    waiting: Vec<Case>,
    closed: Closed,
    double_holds: u64,
    double_uses: u64,
    violations: u64,
    unjudged: u64,
    /// Those that are not kept, since there are too many.
    dropped: u64,
    covered: u64,
    first: Option<i64>,
}

/// The evidence of double holds that are over and judged.
#[derive(Debug)]
struct Closed {
    /// The first ones, and behind them a random choice.
    some: Vec<Case>,
    longest: Vec<Case>,
    /// How many there were.
    all: usize,
    rng: SmallRng,
}

/// What was found in one look.
#[derive(Debug, Default)]
pub(crate) struct NewDoubles {
    /// When each double hold began.
    pub holds: Vec<When>,
    /// When each double use began.
    pub uses: Vec<When>,
    /// How long the double holds lasted that are over.
    pub overlaps: Vec<Duration>,
}

impl ServerHold {
    /// Its votes, if its lock has any.
    fn voters(&self) -> Vec<SocketAddr> {
        self.hold.lock.as_ref().map_or_else(Vec::new, HeldLock::voters)
    }

    /// What `look` makes of its lock, for which these servers voted and which was held until then; `None` without votes.
    fn voted<T>(&self, voters: &[SocketAddr], until: Option<i64>, look: impl FnOnce(VotedLock<'_>) -> T) -> Option<T> {
        let lock = self.hold.lock.as_ref()?;
        Some(look(VotedLock {
            token: lock.token(),
            asked: monotonic_ns(lock.asked()),
            until,
            voters,
            nodes: lock.nodes(),
            quorum: lock.quorum(),
        }))
    }
}

impl HoldAudit {
    /// The judge of an arm; `seed` chooses what evidence is kept.
    pub fn new(arm: &ArmSpec, seed: u64) -> Self {
        Self {
            believes: arm.lock.is_some(),
            has_votes: arm.lock.uses_nodes(),
            holds: Holds::default(),
            spare: Vec::new(),
            losses: Vec::new(),
            has_new_losses: false,
            waiting: Vec::new(),
            closed: Closed {
                some: Vec::new(),
                longest: Vec::new(),
                all: 0,
                rng: SmallRng::seed_from_u64(seed),
            },
            double_holds: 0,
            double_uses: 0,
            violations: 0,
            unjudged: 0,
            dropped: 0,
            covered: 0,
            first: None,
        }
    }

    /// Judges what has happened on the app servers since the last look, and lets the history have it, if there is one.
    pub fn look(
        &mut self,
        servers: impl Iterator<Item = Arc<HeldLocks>>,
        timeline: &Timeline,
        mut history: Option<&mut ArmHistory>,
    ) -> NewDoubles {
        // Read first: what happened until then is in the buffers.
        let known = monotonic_ns(Instant::now());
        let (mut changes, believes) = (Vec::new(), self.believes);
        for (index, held) in servers.enumerate() {
            let mut news = held.news(std::mem::take(&mut self.spare));
            if let Some(history) = &mut history {
                history.note(index + 1, &news);
            }
            changes.extend(news.drain(..).filter_map(|HoldNews { at, what }| {
                let (hold, ends) = match what {
                    Happened::Began(hold) => (hold, false),
                    Happened::Ended(hold) => (hold, true),
                    Happened::GivenBack(..) | Happened::Refused(_) => return None,
                };
                Some(HoldChange {
                    at: monotonic_ns(at),
                    hold: ServerHold {
                        server: index + 1,
                        hold,
                        believes,
                    },
                    ends,
                })
            }));
            self.spare = news;
        }
        if let Some(history) = history {
            history.write(known);
        }
        let found = self.holds.judge(changes, known);
        let origin = timeline.origin().map_or(known, monotonic_ns);
        let when = |at: i64| timeline.when_micros((at - origin).div_euclid(1000));
        let doubles = NewDoubles {
            holds: found
                .double_holds
                .iter()
                .map(|double| when(double.second_from))
                .collect(),
            uses: found.double_uses.into_iter().map(when).collect(),
            overlaps: found.over.iter().filter_map(DoubleHold::overlap).map(length).collect(),
        };
        self.double_holds += doubles.holds.len() as u64;
        self.double_uses += doubles.uses.len() as u64;
        for double in found.double_holds {
            self.first.get_or_insert((double.second_from - origin).div_euclid(1000));
            if self.waiting.len() < MOST_WAITING {
                self.waiting.push(Case {
                    double,
                    ruling: None,
                    lost: Vec::new(),
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
        self.rule(known - SETTLE);
        doubles
    }

    /// Rules on the double holds whose cause is known, and on all that began before `settled`.
    fn rule(&mut self, settled: i64) {
        let again = std::mem::take(&mut self.has_new_losses);
        for case in &mut self.waiting {
            let is_open = case.ruling.is_none() || again && case.ruling != Some(Ruling::Explained);
            let DoubleHold {
                first, second_from: at, ..
            } = &case.double;
            let voters = first.voters();
            let rule = |lock: VotedLock<'_>| (lock.ruling(*at, &self.losses), lock.lost(*at, &self.losses));
            let ruled = is_open
                .then(|| first.voted(&voters, case.double.first_until, rule))
                .flatten();
            let Some((ruling, lost)) = ruled else { continue };
            if ruling == Ruling::Explained || *at < settled {
                (case.ruling, case.lost) = (Some(ruling), lost);
            }
        }
        let ruled = |ruling| self.waiting.iter().filter(|case| case.ruling == Some(ruling)).count() as u64;
        self.violations = ruled(Ruling::Violation);
        self.unjudged = ruled(Ruling::Unknown) + self.dropped;
        let has_votes = self.has_votes;
        let is_closed = |case: &mut Case| case.is_over && (case.ruling == Some(Ruling::Explained) || !has_votes);
        for case in self.waiting.extract_if(.., is_closed) {
            self.closed.add(case);
        }
    }

    /// Rules on all that is left: nothing more will be known.
    pub fn close(&mut self) {
        self.rule(i64::MAX);
        for case in self.waiting.extract_if(.., |case| case.is_over) {
            self.closed.add(case);
        }
    }

    /// Takes in what a node has lost. Returns how many of the locks that are held and valid lost a vote by it: those that keep others out
    /// no longer, and those that still do.
    pub fn lost(&mut self, loss: Loss) -> (u64, u64) {
        let at = monotonic_ns(Instant::now());
        let before = self.losses.len();
        self.losses.push(loss);
        self.has_new_losses = true;
        let (mut exposed, mut covered) = (0, 0);
        for hold in self.holds.open() {
            let voters = hold.voters();
            let look = |lock: VotedLock<'_>| {
                let is_hit = !lock.lost(at, &self.losses[before..]).is_empty();
                is_hit.then(|| lock.ruling(at, &self.losses))
            };
            let is_valid = hold.relied_until().is_none_or(|until| until > at);
            match hold.voted(&voters, None, look).flatten().filter(|_| is_valid) {
                Some(Ruling::Violation) => {
                    covered += 1;
                    self.covered += u64::from(hold.hold.measured);
                }
                Some(Ruling::Explained | Ruling::Unknown) => exposed += 1,
                None => {}
            }
        }
        (exposed, covered)
    }

    /// Takes in that these servers have the master again since `at`: what they grant from now on counts.
    pub fn is_master(&mut self, servers: &[SocketAddr], at: i64) {
        for loss in &mut self.losses {
            if loss.servers.iter().any(|server| servers.contains(server)) {
                loss.asked_before = loss.asked_before.min(at);
            }
        }
    }

    /// Fills in the figures.
    pub fn fill(&self, figures: &mut Figures) {
        figures.double_holds = self.double_holds;
        figures.double_uses = self.double_uses;
        figures.law_violations = self.violations;
        figures.unjudged = self.unjudged;
        figures.covered = self.covered;
        figures.first_double_hold_us = self.first;
    }

    /// The evidence, in the order in which it was found; `host` tells which host a server is on.
    pub fn evidence(
        &self,
        timeline: &Timeline,
        host: impl Fn(SocketAddr) -> Option<HostId>,
    ) -> Vec<history::DoubleHold> {
        let Some(origin) = timeline.origin().map(monotonic_ns) else {
            return Vec::new();
        };
        let waiting = self.waiting.iter().take(FIRST);
        let mut cases: Vec<&Case> = self
            .closed
            .some
            .iter()
            .chain(&self.closed.longest)
            .chain(waiting)
            .collect();
        cases.sort_by_key(|case| case.double.number);
        cases.dedup_by_key(|case| case.double.number);
        cases.into_iter().map(|case| case.told(origin, &host)).collect()
    }
}

impl Closed {
    fn add(&mut self, case: Case) {
        self.all += 1;
        let overlap = |case: &Case| case.double.overlap();
        let place = self.longest.partition_point(|longer| overlap(longer) >= overlap(&case));
        if place < LONGEST {
            self.longest.insert(place, case.clone());
            self.longest.truncate(LONGEST);
        }
        if self.some.len() < FIRST + CHOICE {
            self.some.push(case);
            return;
        }
        // Each of those behind the first ones is chosen with the same probability.
        let place = FIRST + self.rng.random_range(0..self.all - FIRST);
        if let Some(one) = self.some.get_mut(place) {
            *one = case;
        }
    }
}

impl Case {
    fn told(&self, origin: i64, host: &impl Fn(SocketAddr) -> Option<HostId>) -> history::DoubleHold {
        let micros = |at: i64| (at - origin).div_euclid(1000);
        let belief = |hold: &ServerHold, from, until: Option<i64>| Belief {
            holder: Holder {
                server: hold.server,
                worker: hold.hold.worker,
            },
            token: hold
                .hold
                .lock
                .as_ref()
                .map_or_else(String::new, |lock| lock.token().to_owned()),
            asked_us: hold.hold.lock.as_ref().map(|lock| micros(monotonic_ns(lock.asked()))),
            from_us: micros(from),
            until_us: until.map(micros),
            relied_until_us: hold.relied_until().map(micros),
            votes: hold.voters().into_iter().filter_map(host).map(|host| host.0).collect(),
            nodes: hold.hold.lock.as_ref().map_or(0, HeldLock::nodes),
        };
        let double = &self.double;
        let lost = self.lost.iter().map(|(server, event)| LostVote {
            host: host(*server).map(|host| host.0),
            event: *event,
        });
        history::DoubleHold {
            number: double.number,
            key: double.second.key().to_owned(),
            first: belief(&double.first, double.first_from, double.first_until),
            second: belief(&double.second, double.second_from, double.second_until),
            overlap_us: double
                .overlap()
                .map(|overlap| length(overlap).as_micros())
                .and_then(|us| us.try_into().ok()),
            lost: lost.collect(),
            ruling: self.ruling,
        }
    }
}

fn length(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.max(0).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::law::LostKeys;
    use crate::under_test::{Granted, OtherHold};
    use lockstorm_data::scenario::{Overrides, Source, parse};

    fn server() -> SocketAddr {
        ([127, 0, 0, 1], 7001).into()
    }

    /// A held lock of one node, without end.
    fn lock(token: &str) -> HeldLock {
        let granted = Granted {
            key: "k".to_owned(),
            token: token.to_owned(),
            asked: Instant::now(),
            voters: vec![server()],
            nodes: 1,
            fence: None,
        };
        HeldLock::Other(Arc::new(OtherHold::new(granted, None)))
    }

    #[test]
    fn a_node_that_tells_late_what_it_has_lost_still_explains_a_double_hold() {
        let source = Source::open("single-vs-redlock").unwrap();
        let scenario = parse(&source, &Overrides::default()).unwrap();
        let (mut audit, held) = (HoldAudit::new(&scenario.arms[0], 1), Arc::new(HeldLocks::default()));
        let timeline = Timeline::from(Instant::now());
        let died = monotonic_ns(Instant::now());
        let first = held.enter(1, true, "k", Some(lock("one")));
        let second = held.enter(2, true, "k", Some(lock("two")));
        drop((first, second));
        audit.look([Arc::clone(&held)].into_iter(), &timeline, None);
        let figures = |audit: &HoldAudit| {
            let mut figures = Figures::default();
            audit.fill(&mut figures);
            (figures.double_holds, figures.law_violations, figures.unjudged)
        };
        assert_eq!(figures(&audit), (1, 0, 0), "its cause may still be found");
        audit.rule(i64::MAX);
        assert_eq!(figures(&audit), (1, 1, 0));
        let loss = |keys| Loss {
            servers: vec![server()],
            event: Some(3),
            since: died,
            asked_from: i64::MIN,
            asked_before: i64::MAX,
            keys,
        };
        audit.lost(loss(LostKeys::Unknown));
        audit.rule(i64::MAX);
        assert_eq!(figures(&audit), (1, 0, 1));
        audit.lost(loss(LostKeys::All));
        audit.close();
        assert_eq!(figures(&audit), (1, 0, 0));
        let evidence = audit.evidence(&timeline, |_| Some(HostId(1)));
        assert_eq!((evidence.len(), evidence[0].ruling), (1, Some(Ruling::Explained)));
        assert_eq!(
            (evidence[0].first.holder.worker, evidence[0].second.holder.worker),
            (1, 2)
        );
        assert_eq!(evidence[0].lost.len(), 1);
    }
}
