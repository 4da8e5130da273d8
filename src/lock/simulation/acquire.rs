//! Acquiring a lock: one attempt after another.

use super::claims::Claim;
use super::report::Check;
use super::worker::WorkerStage;
use super::world::World;
use crate::protocol::{Attempt, Caller, Command, Decision, Effect, Failed, NodeSet, Step, Time, Wait, Waiting};

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
        let (mut wait, mut timeout) = (wants.wait, wants.timeout);
        let gives_up = if probe.is_some() || !self.random.chance(self.settings.give_up_per_mille) {
            Time::MAX
        } else {
            // At any time within an acquire and a hold of the usual length.
            let most = wants.rules.ttl + self.settings.hold.most();
            now + crate::protocol::draw(most, self.random.next())
        };
        if probe.is_some() {
            (wait, timeout) = self.probe_terms(wait);
        }
        let forgotten = gives_up < Time::MAX && self.random.chance(300);
        let heeds_loss = self.random.chance(self.settings.heed_loss_per_mille);
        let worker = &mut self.workers[w];
        worker.key = key;
        worker.caller = Caller::new(wait, &self.settings.wants_of(w).rules, now, timeout);
        worker.refusal = None;
        worker.gives_up = gives_up;
        worker.heeds_loss = heeds_loss;
        worker.forgotten = forgotten;
        self.go_on(w, now);
    }

    /// Does what its caller does next.
    pub(super) fn go_on(&mut self, w: usize, now: Time) {
        let worker = &mut self.workers[w];
        let channel = self.apps[worker.app].channels.get_mut(&worker.key);
        let channel = channel.filter(|_| worker.place.is_some());
        let step = worker
            .caller
            .poll(channel.map(|channel| &mut channel.announcements), now);
        match step {
            Step::Wait(until) | Step::Ask(until) | Step::LookUp(_, until) if !self.promise(w, until) => {
                self.go_on(w, now);
            }
            Step::StandInLine(until) => self.enter_line(w, until, now),
            Step::Wait(until) => self.wait_until(w, until),
            Step::Ask(limit) => self.ask(w, limit, now),
            Step::LookUp(held, until) => self.look_up(w, held, until, now),
            Step::Refuse(refusal) => self.end_refused(w, refusal, now),
        }
    }

    fn ask(&mut self, w: usize, limit: Time, now: Time) {
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
        worker.limit = limit;
        worker.ticket += 1;
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
        let waiting = attempt.waiting(worker.limit, now);
        if let Waiting::Until(_) = waiting {
            return;
        }
        let cut_short = waiting == Waiting::CutShort;
        let votes = attempt.votes();
        let decision = attempt.decide(now);
        self.report.attempts.count(decision);
        self.report.splits += u64::from(decision == Decision::Contended && votes > 0);
        self.note(|world| {
            let Claim { app, key, token, .. } = world.claims[id];
            format!("app server {app}, worker {w}, key {key}: token {token} is {decision:?} with {votes} votes")
        });
        if decision == Decision::Granted {
            self.check_votes(id);
            self.hold(w, id, now);
        } else {
            if decision == Decision::Expired {
                self.workers[w].too_slow = self.workers[w].place;
            }
            let failed = Failed::of(&self.claims[id].attempt, decision, cut_short, now);
            self.refused(w, id, &failed, now);
        }
    }

    fn refused(&mut self, w: usize, id: u32, failed: &Failed, now: Time) {
        let (token, start) = (self.claims[id].token, self.claims[id].attempt.start());
        self.close(w, now);
        self.expect_refusal(w, token, failed.is_cut_short(), start);
        let (app, key, random) = (self.workers[w].app, self.workers[w].key, self.random.next());
        if self.is_in_line(w) {
            self.join(app, key, now);
        }
        let worker = &mut self.workers[w];
        let channel = self.apps[app].channels.get_mut(&key);
        let channel = channel.filter(|_| worker.place.is_some());
        let channel = channel.map(|channel| &mut channel.announcements);
        let waited = worker.caller.on_refused(failed, token, channel, random, now);
        let steps_back = worker.caller.steps_back();
        self.announce(app, key, waited, now);
        if steps_back {
            self.leave_line(w, now);
        }
        self.go_on(w, now);
    }

    pub(super) fn end_refused(&mut self, w: usize, refusal: Option<u64>, now: Time) {
        self.report.refused += 1;
        self.check_refusal(w, refusal);
        self.leave_line(w, now);
        self.announce_waiting(self.workers[w].app, self.workers[w].key, now);
        self.end_cycle(w);
    }

    pub(super) fn wait_until(&mut self, w: usize, at: Time) {
        let worker = &mut self.workers[w];
        worker.stage = WorkerStage::Waiting;
        worker.until = at;
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
