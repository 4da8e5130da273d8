//! Acquiring a lock: one attempt after another.

use super::claims::Claim;
use super::report::Check;
use super::worker::WorkerStage;
use super::world::World;
use crate::protocol::{Acquire, Attempt, Command, Decision, Effect, Next, NodeSet, Time, Vote, Wait, Waiting, quorum};

impl World {
    /// A worker wants a lock.
    pub(super) fn begin_cycle(&mut self, w: usize, now: Time) {
        let probe = self.workers[w].probes.last().copied();
        let key = match probe {
            Some(key) => key,
            None if self.settings.own_keys => w % self.settings.keys,
            None => self.random.index(self.settings.keys),
        };
        let wants = self.settings.wants_of(w);
        let (mut wait, mut deadline) = (wants.wait, now + wants.timeout);
        let gives_up = if probe.is_some() || !self.random.chance(self.settings.give_up_per_mille) {
            Time::MAX
        } else {
            // At any time within an acquire and a hold of the usual length.
            let most = wants.rules.ttl + self.settings.hold.most();
            now + crate::protocol::draw(most, self.random.next())
        };
        if probe.is_some() {
            (wait, deadline) = self.probe_terms(wait, now);
        }
        let heeds_loss = self.random.chance(self.settings.heed_loss_per_mille);
        let worker = &mut self.workers[w];
        worker.key = key;
        worker.acquire = Acquire::new(wait, deadline);
        worker.since = now;
        worker.gives_up = gives_up;
        worker.heeds_loss = heeds_loss;
        if self.is_in_line(w) {
            self.enter_line(w, now);
        } else {
            self.ask(w, now);
        }
    }

    /// Begins an attempt, or gives up if there is no time for it.
    pub(super) fn ask(&mut self, w: usize, now: Time) {
        if !self.workers[w].acquire.begins(now) {
            return self.end_refused(w, now);
        }
        self.check_permit(w);
        let rules = self.settings.wants_of(w).rules;
        let nodes = self.settings.nodes;
        let worker = &self.workers[w];
        let (app, key) = (worker.app, worker.key);
        self.last_token += 1;
        let id = self.claims.insert(Claim {
            attempt: Attempt::new(nodes, rules, now),
            app,
            worker: w,
            key,
            token: self.last_token,
            owned: true,
            jobs: 0,
            announces: self.is_in_line(w),
            was_held: false,
            lost: false,
            valid_until: None,
            renewals: (None, 0),
            granted: NodeSet::EMPTY,
            asked: NodeSet::EMPTY,
            owes: NodeSet::EMPTY,
        });
        let worker = &mut self.workers[w];
        worker.stage = WorkerStage::Asking;
        worker.claim = Some(id);
        // Votes that come later are useless.
        worker.limit = worker.acquire.deadline().min(now + rules.ttl);
        self.send(id, NodeSet::first(nodes), Command::Set, false, now);
    }

    /// Applies the result of a command for a claim.
    pub(super) fn apply(&mut self, id: u32, effect: Effect) {
        let claim = &self.claims[id];
        if claim.was_held && claim.attempt.is_held() {
            if effect.lost {
                self.lose(id);
            }
            self.check_claim(id);
            self.update_validity(id, effect.sooner);
        }
        if effect.decided && self.claims[id].owned {
            self.wake(self.claims[id].worker);
        }
    }

    /// A command that refers to the claim is done.
    pub(super) fn drop_job(&mut self, id: u32) {
        self.claims[id].jobs -= 1;
        self.remove_if_unused(id);
    }

    pub(super) fn remove_if_unused(&mut self, id: u32) {
        let claim = &self.claims[id];
        if claim.is_used() {
            return;
        }
        let now = self.time(claim.app);
        if !claim.owes.is_empty() && now < claim.attempt.owed_until() {
            let (key, app, token, owes) = (claim.key, claim.app, claim.token, claim.owes);
            self.violate(Check::Undo, Some(key), Some(app), || {
                format!("nobody will tell the nodes {owes:?} to delete the key of token {token}")
            });
        }
        self.claims.remove(id);
    }

    /// Decides the attempt if its votes have come, or the time for them is over.
    pub(super) fn look_at_votes(&mut self, w: usize, now: Time) {
        let worker = &self.workers[w];
        let Some(id) = worker.claim else { return };
        let attempt = &mut self.claims[id].attempt;
        if let Waiting::Until(_) = attempt.waiting(worker.limit, now) {
            return;
        }
        let votes = attempt.votes();
        let decision = attempt.decide(now);
        self.report.attempts.count(decision);
        self.note(|world| {
            let Claim { app, key, token, .. } = world.claims[id];
            format!("app server {app}, worker {w}, key {key}: token {token} is {decision:?} with {votes} votes")
        });
        if decision == Decision::Granted {
            self.check_votes(id);
            self.hold(w, id, now);
        } else {
            self.refused(w, id, decision, votes, now);
        }
    }

    fn refused(&mut self, w: usize, id: u32, why: Decision, votes: usize, now: Time) {
        if why == Decision::Contended && votes > 0 {
            self.report.splits += 1;
        }
        let attempt = &self.claims[id].attempt;
        let elapsed = now - attempt.start();
        let nodes = attempt.nodes();
        let holders: NodeSet = (0..nodes).filter(|&node| attempt.vote(node) == Vote::Held).collect();
        self.close(w, now);
        let in_line = self.is_in_line(w);
        let spread = if in_line {
            self.after_refusal(w, why, elapsed, now)
        } else {
            std::time::Duration::ZERO
        };
        let random = self.random.next();
        let worker = &mut self.workers[w];
        match worker.acquire.on_refused(why, votes, spread, random, now) {
            Next::GiveUp => self.end_refused(w, now),
            Next::At(at) => self.pause_until(w, at),
            Next::LookUp(latest) => {
                let needed = quorum(nodes).saturating_sub(votes);
                self.look_up(w, holders, needed, latest, now);
            }
        }
    }

    fn end_refused(&mut self, w: usize, now: Time) {
        self.report.refused += 1;
        self.leave_line(w, now);
        self.end_cycle(w);
    }

    pub(super) fn pause_until(&mut self, w: usize, at: Time) {
        let worker = &mut self.workers[w];
        worker.stage = WorkerStage::Pausing;
        worker.until = at;
        worker.ticket += 1;
    }

    /// Ends the attempt of a worker, or releases its lock, and returns whether it was held. The worker keeps its permit.
    pub(super) fn close(&mut self, w: usize, now: Time) -> bool {
        let Some(id) = self.workers[w].claim else { return false };
        let claim = &mut self.claims[id];
        let held = claim.attempt.is_held();
        let announce = held && claim.announces;
        let holders = claim.attempt.close(now);
        if claim.was_held {
            self.end_belief(id);
        }
        self.send(id, holders, Command::Delete, announce, now);
        if self.workers[w].stage == WorkerStage::Asking {
            self.workers[w].claim = None;
            self.claims[id].owned = false;
            self.remove_if_unused(id);
        }
        held
    }

    /// Whether a worker waits in line for its locks.
    pub(super) fn is_in_line(&self, w: usize) -> bool {
        // A probe waits in line, or not, as its worker always does.
        self.settings.wants_of(w).wait == Wait::Queue
    }
}
