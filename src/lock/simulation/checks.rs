//! The checks that the world makes of everything that happens in it.

use std::time::Duration;

use super::belief::{Belief, Forgotten};
use super::node::Node;
use super::report::Check;
use super::report::{Report, Violation};
use super::worker::WorkerStage;
use super::world::World;
use crate::protocol::{Time, Vote};

/// The most violations that are kept; the first ones are the most useful.
const MAX_VIOLATIONS: usize = 100;

/// How long others wait at most for a caller that does not act when it promised.
const MOST_PATIENCE: Duration = Duration::from_millis(60);

/// How long an announcement counts at least.
const REMEMBERED: Duration = Duration::from_millis(250);

impl World {
    pub(super) fn violate(
        &mut self,
        check: Check,
        key: Option<usize>,
        app_server: Option<usize>,
        what: impl FnOnce() -> String,
    ) {
        if self.report.violations.len() < MAX_VIOLATIONS {
            let violation = Violation {
                check,
                at: Duration::from_nanos(self.now),
                key,
                app_server,
                what: what(),
            };
            self.note(|_| format!("VIOLATION {violation}"));
            self.report.violations.push(violation);
        }
    }

    // Beliefs.

    /// A lock was granted: nobody else may believe that it holds the lock.
    pub(super) fn begin_belief(&mut self, id: u32) {
        let claim = &mut self.claims[id];
        claim.valid_until = claim.attempt.lease().valid_until();
        let (app, key, token) = (claim.app, claim.key, claim.token);
        let until = claim
            .valid_until
            .map_or(self.now, |until| self.apps[app].clock.when(until));
        let belief = Belief {
            token,
            app,
            until,
            signalled: false,
            orphaned: false,
            died: None,
            overtaken: false,
        };
        if until <= self.now {
            self.violate(Check::Overlap, Some(key), Some(app), || {
                format!("token {token} was granted after the end of its validity")
            });
        }
        self.check_support(&belief, key);
        let mut others = std::mem::take(&mut self.beliefs[key]);
        for other in &mut others {
            self.sample_takeover(other);
            if other.is_over(self.now) {
                self.check_signal(other, key);
            } else {
                self.check_overlap(other, &belief, key);
            }
        }
        let before = others.len();
        others.retain(|other| !other.is_over(self.now) || other.overtaken);
        if others.len() < before {
            self.report.takeovers += 1;
        }
        others.push(belief);
        self.beliefs[key] = others;
    }

    fn belief(&mut self, id: u32) -> Option<&mut Belief> {
        let (key, token) = (self.claims[id].key, self.claims[id].token);
        self.beliefs[key].iter_mut().find(|belief| belief.token == token)
    }

    /// The validity of a held lock has changed.
    pub(super) fn change_belief(&mut self, id: u32) {
        let claim = &self.claims[id];
        let until = claim
            .valid_until
            .map_or(self.now, |until| self.apps[claim.app].clock.when(until));
        let key = claim.key;
        if let Some(belief) = self.belief(id) {
            belief.until = until;
            let belief = belief.clone();
            if !belief.is_over(self.now) {
                self.check_support(&belief, key);
            }
        }
    }

    pub(super) fn signal_belief(&mut self, id: u32) {
        let (app, key) = (self.claims[id].app, self.claims[id].key);
        // Right after a freeze a signal can't be earlier.
        let (now, froze) = (self.now, self.apps[app].thawed == Some(self.now));
        let Some(belief) = self.belief(id) else { return };
        let (token, until) = (belief.token, belief.until);
        belief.signalled = true;
        belief.until = until.min(now);
        if until < now && !froze {
            self.violate(Check::Signal, Some(key), Some(app), || {
                let late = Duration::from_nanos(now - until);
                format!("the loss of token {token} was signalled {late:?} after the end of its validity")
            });
        }
    }

    /// The lock was released.
    pub(super) fn end_belief(&mut self, id: u32) {
        let (key, token) = (self.claims[id].key, self.claims[id].token);
        let Some(index) = self.beliefs[key].iter().position(|belief| belief.token == token) else {
            return;
        };
        let mut belief = self.beliefs[key].remove(index);
        if belief.overtaken {
            self.check_signal(&mut belief, key);
        }
    }

    /// An app server died: the beliefs of its workers last until their validity ends. A lock that was lost before has no
    /// holder who died.
    pub(super) fn orphan_beliefs(&mut self, app: usize) {
        let now = self.now;
        for belief in self.beliefs.iter_mut().flatten().filter(|belief| belief.app == app) {
            belief.orphaned = true;
            belief.died = (!belief.is_over(now)).then_some(now);
        }
    }

    /// Somebody has got the lock of this holder, which may have died.
    fn sample_takeover(&mut self, holder: &mut Belief) {
        if let Some(died) = holder.died.take() {
            self.samples.takeovers.push(Duration::from_nanos(self.now - died));
        }
    }

    /// Somebody else has the lock: its loss must have been signalled to this holder, whose validity is over.
    fn check_signal(&mut self, other: &mut Belief, key: usize) {
        if other.signalled || other.orphaned {
            return;
        }
        if self.apps[other.app].frozen {
            other.overtaken = true;
            return;
        }
        let (app, token) = (other.app, other.token);
        other.signalled = true;
        self.violate(Check::Signal, Some(key), Some(app), || {
            format!("the loss of token {token} was not signalled before somebody else got the lock")
        });
    }

    /// After a freeze, every lock that was lost meanwhile must be signalled.
    pub(super) fn check_signals_after_freeze(&mut self, app: usize) {
        for key in 0..self.settings.keys {
            let mut beliefs = std::mem::take(&mut self.beliefs[key]);
            for belief in beliefs
                .iter_mut()
                .filter(|belief| belief.app == app && belief.overtaken)
            {
                belief.overtaken = false;
                self.check_signal(belief, key);
            }
            self.beliefs[key] = beliefs;
        }
    }

    /// Two holders believe that they hold the same lock.
    fn check_overlap(&mut self, first: &Belief, second: &Belief, key: usize) {
        let (app, tokens) = (second.app, (first.token, second.token));
        let until = Duration::from_nanos(first.until);
        if self.report.faults.forgets + self.report.faults.jumps == 0 {
            return self.violate(Check::Overlap, Some(key), Some(app), || {
                format!(
                    "token {} is granted while {} is valid until {until:?}",
                    tokens.1, tokens.0
                )
            });
        }
        let nodes = self.nodes.len();
        let (kept, lost) = self.evidence(first.token, key);
        let (_, lost_by_second) = self.evidence(second.token, key);
        let votes = kept + lost;
        // The votes that a second holder can do without.
        let spare = nodes - majority(nodes);
        // A key that the second holder lost may have become the first holder's after that.
        if votes >= majority(nodes) && lost + lost_by_second + spare >= votes {
            self.report.overlaps += 1;
            return;
        }
        self.violate(Check::DoubleHold, Some(key), Some(app), || {
            format!(
                "token {} is granted while {} is valid until {until:?} with {votes} keys of {nodes}, of which nodes forgot {lost}",
                tokens.1, tokens.0
            )
        });
    }

    /// A holder must have keys on a quorum of nodes until the end of its validity, including keys that nodes have forgotten.
    fn check_support(&mut self, belief: &Belief, key: usize) {
        let nodes = self.nodes.len();
        let lasts = |node: usize| {
            let expires = self.expiry(node, key, belief.token);
            expires.is_some_and(|expires| self.nodes[node].clock.when_millis(expires + 1) >= belief.until)
        };
        let keys = (0..nodes).filter(|&node| lasts(node)).count();
        if keys < majority(nodes) {
            let (app, token) = (belief.app, belief.token);
            let until = Duration::from_nanos(belief.until);
            self.violate(Check::Support, Some(key), Some(app), || {
                format!("token {token} is valid until {until:?}, but only {keys} keys of {nodes} exist that long")
            });
        }
    }

    /// A held lock must not be valid for longer than the answers of the nodes allow.
    pub(super) fn check_claim(&mut self, id: u32) {
        let claim = &self.claims[id];
        let Some(until) = claim.attempt.lease().valid_until() else {
            return;
        };
        let (app, key, token) = (claim.app, claim.key, claim.token);
        let now = self.time(app);
        let was_over = claim.lost || claim.valid_until.is_some_and(|before| before <= now);
        if was_over && until > now {
            self.violate(Check::Revival, Some(key), Some(app), || {
                format!("token {token}, whose validity was over or which was lost, is valid again")
            });
        }
        let claim = &self.claims[id];
        let (granted, attempt) = (claim.granted, &claim.attempt);
        if granted.into_iter().any(|node| attempt.vote(node) == Vote::Unknown) {
            self.violate(Check::Vote, Some(key), Some(app), || {
                format!("token {token} does not count the votes of all nodes {granted:?} that have said that they have its key")
            });
        }
        if granted.len() < majority(self.nodes.len()) {
            self.violate(Check::Support, Some(key), Some(app), || {
                format!("token {token} is valid though only the nodes {granted:?} have said that they have its key")
            });
        }
    }

    /// Only votes that nodes gave may be counted.
    pub(super) fn check_votes(&mut self, id: u32) {
        let claim = &self.claims[id];
        let nodes = claim.attempt.nodes();
        let votes = claim.attempt.votes();
        let is_false = |node: &usize| claim.attempt.vote(*node) == Vote::Granted && !claim.granted.contains(*node);
        if (0..nodes).any(|node| is_false(&node)) || claim.granted.len() < votes.max(majority(nodes)) {
            let (key, app, token, granted) = (claim.key, claim.app, claim.token, claim.granted);
            self.violate(Check::Vote, Some(key), Some(app), || {
                format!("token {token} counts {votes} votes, of the nodes {granted:?} that gave theirs")
            });
        }
    }

    // Lines.

    /// Nobody asks in line, or passes on the turn, unless it is its turn.
    pub(super) fn check_permit(&mut self, w: usize) {
        let worker = &self.workers[w];
        let (app, key) = (worker.app, worker.key);
        let turn = self.apps[app].turns.get(&key).copied();
        if worker.place.is_some() && worker.place == worker.too_slow {
            self.violate(Check::Permit, Some(key), Some(app), || {
                format!("worker {w} was too slow for its TTL, and asks again before it lets others try")
            });
        }
        if self.is_in_line(w) && turn != Some(w) {
            self.violate(Check::Permit, Some(key), Some(app), || {
                format!("worker {w} asks, or passes on the turn, though it is the turn of {turn:?}")
            });
        }
    }

    /// Those ahead of a worker whose time is over in line must do what they promised.
    pub(super) fn check_turn(&mut self, w: usize, now: Time) {
        let (app, key) = (self.workers[w].app, self.workers[w].key);
        let Some(&ahead) = self.apps[app].turns.get(&key) else {
            return;
        };
        let worker = &self.workers[ahead];
        let thawed = self.apps[app].thawed.unwrap_or(0);
        let promised = worker.promised.max(self.apps[app].clock.at(thawed));
        if worker.forgotten && worker.stage != WorkerStage::Holding && now > promised + MOST_PATIENCE {
            self.violate(Check::Permit, Some(key), Some(app), || {
                format!(
                    "worker {w} waited in vain for {ahead}, which promised to act by {promised:?}, and it is {now:?}"
                )
            });
        }
    }

    /// The turn in a line was taken away.
    pub(super) fn check_turn_over(&mut self, app: usize, key: usize, now: Time) {
        let Some(&w) = self.apps[app].turns.get(&key) else {
            return;
        };
        let worker = &self.workers[w];
        let valid = worker
            .claim
            .and_then(|id| self.claims[id].attempt.lease().valid_until());
        let until = match worker.stage {
            WorkerStage::Holding => valid.unwrap_or(Time::ZERO),
            _ => worker.promised,
        };
        if until > now {
            self.violate(Check::Permit, Some(key), Some(app), || {
                format!("the turn of worker {w} was taken away before {until:?}, at {now:?}")
            });
        }
    }

    /// The other app servers know whether anybody waits here, unless they have forgotten it anyway.
    pub(super) fn check_withdrawn(&mut self, app: usize, key: usize, since: Option<Time>, now: Time) {
        let announced = self.apps[app].channels.get(&key).and_then(|channel| channel.announced);
        if since.is_none() && announced.is_some_and(|at| now - at < REMEMBERED) {
            self.violate(Check::Announcement, Some(key), Some(app), || {
                "others still hold back for it, though nobody waits here".to_owned()
            });
        }
    }

    // Refusals.

    /// An attempt that began at `start` was refused: its caller must be told this refusal, or an earlier one if that says more.
    pub(super) fn expect_refusal(&mut self, w: usize, token: u64, cut_short: bool, start: Time) {
        let ttl = self.settings.wants_of(w).rules.ttl;
        let worker = &mut self.workers[w];
        let by_deadline = worker.limit < start + ttl;
        if !(cut_short && by_deadline && worker.refusal.is_some()) {
            worker.refusal = Some(token);
        }
    }

    /// A worker is told this refusal.
    pub(super) fn check_refusal(&mut self, w: usize, told: Option<u64>) {
        let worker = &self.workers[w];
        let (app, key, refusal) = (worker.app, worker.key, worker.refusal);
        if told != refusal {
            self.violate(Check::Refusal, Some(key), Some(app), || {
                format!("worker {w} is told the refusal of {told:?}, and not that of {refusal:?}")
            });
        }
    }

    // Evidence.

    /// The number of keys with this token that nodes have now, and the number that nodes forgot and that would still exist.
    pub(super) fn evidence(&self, token: u64, key: usize) -> (usize, usize) {
        let has = |node: usize| {
            let node = &self.nodes[node];
            node.store.token(key, node.clock.millis(self.now)) == Some(token)
        };
        let kept = (0..self.nodes.len()).filter(|&node| has(node)).count();
        let would_have = |lost: &&Forgotten| {
            lost.token == token
                && lost.key == key
                && self.nodes[lost.node].clock.millis(self.now) <= lost.expires
                && !has(lost.node)
        };
        let mut lost: Vec<_> = self.forgotten.iter().filter(would_have).map(|lost| lost.node).collect();
        // A node may have forgotten it twice.
        lost.sort_unstable();
        lost.dedup();
        (kept, lost.len())
    }

    /// When a node's key with this token expires, in milliseconds of the node's clock; also if the node has forgotten it
    /// meanwhile.
    fn expiry(&self, node: usize, key: usize, token: u64) -> Option<u64> {
        let Node { store, clock, .. } = &self.nodes[node];
        let now = clock.millis(self.now);
        let has = store.token(key, now) == Some(token);
        let there = has.then(|| store.remaining(key, now).map(|remaining| now + remaining));
        let is_it = |lost: &&Forgotten| lost.node == node && lost.key == key && lost.token == token;
        // After a jump of the clock a key that is there may be one that would have existed for longer.
        let lost = self.forgotten.iter().filter(is_it).map(|lost| lost.expires).max();
        there.flatten().max(lost)
    }

    /// The world no longer remembers keys that would have expired by now.
    fn forget_expired(&mut self) {
        let (nodes, now) = (&self.nodes, self.now);
        self.forgotten
            .retain(|lost| nodes[lost.node].clock.millis(now) <= lost.expires);
    }

    /// A node's clock jumps forward, so that its keys expire too early: the world remembers until when each would have existed.
    pub(super) fn jump(&mut self, node: usize, by: u64) {
        self.report.faults.jumps += 1;
        self.note(|_| format!("the clock of node {node} jumps by {:?}", Duration::from_nanos(by)));
        self.forget_expired();
        let by_millis = by.div_ceil(1_000_000);
        let Node { store, clock, .. } = &mut self.nodes[node];
        let now = clock.millis(self.now);
        for lost in self.forgotten.iter_mut().filter(|lost| lost.node == node) {
            lost.expires += by_millis;
        }
        self.forgotten.extend(store.all(now).map(|(key, token)| Forgotten {
            node,
            key,
            token,
            expires: now + store.remaining(key, now).unwrap_or(0) + by_millis,
        }));
        clock.jump(by);
    }

    /// A node's clock jumps back: its keys exist for longer. Those that have expired stay so.
    pub(super) fn jump_back(&mut self, node: usize, by: u64) {
        self.note(|_| format!("the clock of node {node} jumps back by {:?}", Duration::from_nanos(by)));
        self.forget_expired();
        let Node { store, clock, .. } = &mut self.nodes[node];
        store.drop_expired(clock.millis(self.now));
        let by_millis = clock.jump_back(by) / 1_000_000;
        for lost in self.forgotten.iter_mut().filter(|lost| lost.node == node) {
            lost.expires = lost.expires.saturating_sub(by_millis);
        }
    }

    /// A node loses all keys; the world remembers them for as long as they would have existed.
    pub(super) fn forget(&mut self, node: usize) {
        self.forget_expired();
        let now = self.nodes[node].clock.millis(self.now);
        let lost = self.nodes[node].store.forget(now);
        self.forgotten
            .extend(lost.into_iter().map(|(key, token, expires)| Forgotten {
                node,
                key,
                token,
                expires,
            }));
    }

    /// The report of what has happened so far.
    #[must_use]
    pub fn report(&self) -> Report {
        Report {
            time: Duration::from_nanos(self.now),
            ..self.report.clone()
        }
    }
}

/// More than half of the nodes; the world has its own arithmetic, to check that of the protocol.
const fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}
