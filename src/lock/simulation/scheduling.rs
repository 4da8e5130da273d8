//! What is due for a worker, and its single timer.

use std::time::Duration;

use super::clock::NEVER;
use super::event::EventKind;
use super::units::short;
use super::worker::{Worker, WorkerStage};
use super::world::World;
use crate::protocol::{Time, Waiting};

impl World {
    pub(super) fn on_timer(&mut self, w: usize) {
        let worker = &mut self.workers[w];
        if worker.timer == self.now {
            // Most timers guard against an answer that fails to come, and turn out not to be needed: their event then serves
            // the next such time.
            worker.timer = std::mem::replace(&mut worker.later, NEVER);
            if !self.apps[self.workers[w].app].frozen {
                self.look(w);
            }
        }
    }

    /// A worker's wait is over: it runs as soon as its app server gets to it.
    pub(super) fn wake(&mut self, w: usize) {
        if self.lag == 0 {
            self.woken.push(w);
        } else {
            let at = self.now + self.draw_lag();
            self.set_timer(w, at);
        }
    }

    /// Runs the workers that were woken, once all answers of this moment are read.
    pub(super) fn run_woken(&mut self) {
        let mut next = 0;
        while next < self.woken.len() {
            let w = self.woken[next];
            if !self.apps[self.workers[w].app].frozen {
                self.look(w);
            }
            next += 1;
        }
        self.woken.clear();
    }

    /// Does what is due for a worker, and sets its timer for what is due next. It may be called at any time.
    pub(super) fn look(&mut self, w: usize) {
        let worker = &self.workers[w];
        let now = self.time(worker.app);
        let (stage, due) = (worker.stage, now >= worker.until);
        // The signal of a loss comes first, whatever else is due.
        if now >= worker.signals {
            self.look_at_loss(w, now);
        }
        if now >= self.workers[w].gives_up {
            self.give_up(w, now);
        } else {
            match stage {
                WorkerStage::Idle => return,
                WorkerStage::Resting if due => self.begin_cycle(w, now),
                WorkerStage::Resting => {}
                WorkerStage::InLine | WorkerStage::Waiting | WorkerStage::Asking if self.workers[w].forgotten => {}
                WorkerStage::InLine => self.look_at_line(w, now),
                WorkerStage::Waiting => self.look_at_remaining(w, now),
                WorkerStage::Asking => self.look_at_votes(w, now),
                WorkerStage::Holding => self.look_at_lock(w, now),
                WorkerStage::Releasing => {
                    if due || self.is_released(w) {
                        self.end_cycle(w);
                    }
                }
            }
        }
        self.arm(w);
    }

    /// Sets the timer of a worker for what comes next.
    pub(super) fn arm(&mut self, w: usize) {
        let worker = &self.workers[w];
        let now = self.time(worker.app);
        let next = match worker.stage {
            WorkerStage::Idle => return,
            WorkerStage::InLine | WorkerStage::Waiting | WorkerStage::Asking if worker.forgotten => Time::MAX,
            WorkerStage::Resting | WorkerStage::InLine | WorkerStage::Waiting => worker.until,
            WorkerStage::Asking => match worker
                .claim
                .map(|id| self.claims[id].attempt.waiting(worker.limit, now))
            {
                Some(Waiting::Until(until)) => until,
                _ => now,
            },
            WorkerStage::Holding => worker.until.min(worker.renews).min(worker.signals),
            WorkerStage::Releasing if self.is_released(w) => now,
            WorkerStage::Releasing => worker.until,
        };
        let worker = &self.workers[w];
        let at = self.apps[worker.app].clock.when(next.min(worker.gives_up));
        // A timer that fires earlier anyway is not set again.
        if at < worker.timer {
            let at = at.max(self.now) + self.draw_lag();
            self.set_timer(w, at);
        }
    }

    fn set_timer(&mut self, w: usize, at: u64) {
        let worker = &mut self.workers[w];
        if at < worker.timer {
            worker.later = std::mem::replace(&mut worker.timer, at);
            self.events.plan(at, EventKind::Worker(short(w)));
        }
    }

    /// Its app server died.
    pub(super) fn reset_worker(&mut self, w: usize) {
        let worker = Worker::new(self.workers[w].app);
        // Answers for the previous worker have another ticket.
        let ticket = self.workers[w].ticket + 1;
        self.workers[w] = Worker { ticket, ..worker };
    }

    /// Lets a worker rest until its next cycle.
    pub(super) fn rest(&mut self, w: usize) {
        let now = self.time(self.workers[w].app);
        let think = self.random.within(self.settings.think);
        let worker = &mut self.workers[w];
        worker.stage = WorkerStage::Resting;
        worker.until = now + Duration::from_nanos(think);
        worker.gives_up = Time::MAX;
        worker.ticket += 1;
        if self.calm && worker.probes.is_empty() {
            worker.until = Time::MAX;
        }
        self.arm(w);
    }

    /// The acquire, or the lock, is over.
    pub(super) fn end_cycle(&mut self, w: usize) {
        self.report.cycles += 1;
        if let Some(id) = self.workers[w].claim.take() {
            self.claims[id].owned = false;
            self.remove_if_unused(id);
        }
        self.rest(w);
    }

    /// The caller gives up: its future or guard is dropped.
    fn give_up(&mut self, w: usize, now: Time) {
        self.report.given_up += 1;
        if self.workers[w].stage == WorkerStage::Asking {
            self.report.attempts.dropped += 1;
        }
        self.close(w, now);
        let worker = &self.workers[w];
        let (app, key, waits) = (worker.app, worker.key, worker.place.is_some());
        self.leave_line(w, now);
        if waits {
            self.announce_waiting(app, key, now);
        }
        self.end_cycle(w);
    }

    fn is_released(&self, w: usize) -> bool {
        let released = |id: u32| self.claims[id].attempt.released().is_some();
        self.workers[w].claim.is_none_or(released)
    }
}
