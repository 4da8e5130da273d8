//! Waiting in line: within an app server in order of arrival, and among app servers by their announcements.

use std::time::Duration;

use super::app_server::{Channel, KeyLine, Waiter};
use super::clock::NEVER;
use super::connection::Job;
use super::event::EventKind;
use super::report::Check;
use super::units::short;
use super::worker::{LookUp, WorkerStage};
use super::world::World;
use crate::protocol::{Acquire, Announcements, Decision, Line, NodeSet, Time, free_after};

impl World {
    // The line of an app server.

    pub(super) fn enter_line(&mut self, w: usize, now: Time) {
        let worker = &self.workers[w];
        let (app, key) = (worker.app, worker.key);
        if !self.apps[app].lines.contains_key(&key) {
            let permit = self.next_permit(app);
            let line = KeyLine {
                line: Line::new(permit),
                permit,
                worker: w,
                held: None,
            };
            self.apps[app].lines.insert(key, line);
            return self.take_permit(w, permit, now);
        }
        let since = worker.since;
        let worker = &mut self.workers[w];
        worker.ticket += 1;
        worker.stage = WorkerStage::InLine;
        // It checks the caller ahead of it at once.
        worker.until = now;
        let waiter = Waiter {
            worker: w,
            ticket: worker.ticket,
        };
        // Removes dead waiters at the front, so that they do not pile up while a key is held for long.
        self.front(app, key);
        if let Some(line) = self.apps[app].lines.get_mut(&key) {
            line.line.enter(since, waiter);
        }
        let front = self.front(app, key);
        self.announce(app, key, front, false, now);
    }

    /// Since when the first waiter behind the present permit has waited.
    fn front(&mut self, app: usize, key: usize) -> Option<Time> {
        let workers = &self.workers;
        let line = self.apps[app].lines.get_mut(&key)?;
        line.line.front(|waiter| workers[waiter.worker].ticket != waiter.ticket)
    }

    fn next_permit(&mut self, app: usize) -> u64 {
        self.apps[app].last_permit += 1;
        self.apps[app].last_permit
    }

    /// A worker has the permit: it asks, after the head start of app servers that have waited longer.
    fn take_permit(&mut self, w: usize, permit: u64, now: Time) {
        let worker = &self.workers[w];
        let (app, key, since) = (worker.app, worker.key, worker.since);
        let (mut heard, mut at) = (0, now);
        if let Some(channel) = self.apps[app].channels.get_mut(&key) {
            heard = channel.announcements.changes();
            at = now + channel.announcements.yield_delay(since, now);
        }
        let worker = &mut self.workers[w];
        worker.permit = Some(permit);
        worker.heard = heard;
        self.pause_until(w, at);
        self.wake(w);
    }

    /// Checks whether the lock ahead has ended without a release, and whether the time of this worker is over.
    pub(super) fn look_at_line(&mut self, w: usize, now: Time) {
        let worker = &self.workers[w];
        let (app, key, deadline) = (worker.app, worker.key, worker.acquire.deadline());
        if now >= deadline {
            self.report.refused += 1;
            return self.end_cycle(w);
        }
        if now < worker.until {
            return;
        }
        let (permit, held) = match self.apps[app].lines.get(&key) {
            Some(line) => (line.permit, line.held),
            None => {
                self.violate(Check::Permit, Some(key), Some(app), || {
                    format!("worker {w} waits in a line that has ended")
                });
                (0, None)
            }
        };
        let lease = held.map(|id| self.claims[id].attempt.lease());
        let valid_until = lease
            .and_then(crate::protocol::Lease::valid_until)
            .filter(|until| *until > now);
        if held.is_some() && valid_until.is_none() {
            self.pass_on(app, key, permit, now);
        }
        let recheck_interval = self.settings.wants_of(w).rules.ttl;
        let worker = &mut self.workers[w];
        // Otherwise this worker has the permit now.
        if worker.stage == WorkerStage::InLine {
            worker.until = valid_until.unwrap_or(now + recheck_interval).min(deadline);
        }
    }

    /// A worker no longer wants the key, or has released it: its permit passes on.
    pub(super) fn leave_line(&mut self, w: usize, now: Time) {
        let permit = self.workers[w].permit.take();
        let worker = &mut self.workers[w];
        worker.ticket += 1;
        let (app, key) = (worker.app, worker.key);
        if let Some(permit) = permit {
            self.pass_on(app, key, permit, now);
        }
    }

    /// Passes the permit of this number to the next waiter that is still there, or ends the line.
    fn pass_on(&mut self, app: usize, key: usize, mut permit: u64, now: Time) {
        loop {
            let following = self.next_permit(app);
            let Some(line) = self.apps[app]
                .lines
                .get_mut(&key)
                .filter(|line| line.line.is_permit(permit))
            else {
                // This permit was passed on before.
                return;
            };
            let Some(waiter) = line.line.pass_on(following) else {
                self.apps[app].lines.remove(&key);
                return;
            };
            (line.permit, line.worker, line.held) = (following, waiter.worker, None);
            if self.workers[waiter.worker].ticket == waiter.ticket {
                self.report.permits_passed_on += 1;
                return self.take_permit(waiter.worker, following, now);
            }
            permit = following;
        }
    }

    /// The lock was acquired: the permit is kept with it.
    pub(super) fn keep_permit(&mut self, w: usize, id: u32, now: Time) {
        let worker = &self.workers[w];
        let (app, key, permit) = (worker.app, worker.key, worker.permit);
        if let Some(line) = self.apps[app].lines.get_mut(&key)
            && permit.is_some_and(|permit| line.line.is_permit(permit))
        {
            line.held = Some(id);
            let front = self.front(app, key);
            self.announce(app, key, front, false, now);
        }
    }

    fn permit_of(&self, app: usize, key: usize) -> Option<u64> {
        self.apps[app].lines.get(&key).map(|line| line.permit)
    }

    /// Nobody asks in line without the permit.
    pub(super) fn check_permit(&mut self, w: usize) {
        let worker = &self.workers[w];
        let (app, key, permit) = (worker.app, worker.key, worker.permit);
        let present = self.permit_of(app, key);
        if self.is_in_line(w) && (permit.is_none() || permit != present) {
            self.violate(Check::Permit, Some(key), Some(app), || {
                format!("worker {w} asks with permit {permit:?}, the present one is {present:?}")
            });
        }
    }

    // Announcements.

    /// The channel of a key, which is joined if necessary.
    fn join(&mut self, app: usize, key: usize, now: Time) -> &mut Announcements<u64> {
        if !self.apps[app].channels.contains_key(&key) {
            self.subscribe(app, key);
        }
        let (id, nodes) = (self.apps[app].id, self.settings.nodes);
        if self.apps[app].sweeps == NEVER {
            self.plan_sweep(app, now + self.settings.channel_idle);
        }
        let channel = self.apps[app].channels.entry(key).or_insert_with(|| Channel {
            announcements: Announcements::new(id, nodes, now),
            used: now,
        });
        channel.used = now;
        &mut channel.announcements
    }

    /// Announces the waiters of this app server to the others.
    fn announce(&mut self, app: usize, key: usize, since: Option<Time>, asked: bool, now: Time) {
        let Some(channel) = self.apps[app].channels.get_mut(&key) else {
            return;
        };
        channel.used = now;
        if let Some(waited) = channel.announcements.announce(since, asked, now) {
            for c in self.connections_of(app) {
                let waited = Box::new(waited);
                let key = short(key);
                self.push(c, Job::Publish { key, waited }, now);
            }
        }
    }

    /// A node delivered our release to a subscriber. If we are not subscribed there ourselves, we join the channel, so that
    /// the others' announcements reach us.
    pub(super) fn on_release_delivered(&mut self, app: usize, node: usize, key: usize, now: Time) {
        let channel = self.apps[app].channels.get(&key);
        if !channel.is_some_and(|channel| channel.announcements.is_subscribed(node)) {
            self.join(app, key, now).on_unknown_app_server(now);
        }
    }

    /// There is a reason to ask again: the worker with the permit may ask earlier.
    pub(super) fn wake_first_in_line(&mut self, app: usize, key: usize) {
        if let Some(line) = self.apps[app].lines.get(&key) {
            self.wake(line.worker);
        }
    }

    fn plan_sweep(&mut self, app: usize, at: Time) {
        let at = self.apps[app].clock.when(at).max(self.now + 1);
        self.apps[app].sweeps = at;
        self.events.plan(at, EventKind::Sweep(short(app)));
    }

    /// Leaves the channels that have not been used for long.
    pub(super) fn on_sweep(&mut self, app: usize) {
        if self.apps[app].sweeps > self.now || self.apps[app].frozen {
            return;
        }
        self.apps[app].sweeps = NEVER;
        let now = self.time(app);
        let idle = self.settings.channel_idle;
        let mut next = None;
        for key in self.apps[app].channels.keys().copied().collect::<Vec<_>>() {
            let waits = self.apps[app].lines.contains_key(&key);
            let Some(channel) = self.apps[app].channels.get_mut(&key) else {
                continue;
            };
            if waits {
                channel.used = now;
            }
            let end = channel.used + idle;
            if end <= now {
                self.apps[app].channels.remove(&key);
                self.unsubscribe(app, key);
            } else {
                next = Some(next.map_or(end, |next: Time| next.min(end)));
            }
        }
        if let Some(next) = next {
            self.plan_sweep(app, next);
        }
    }

    // The worker with the permit.

    /// When a worker that waits between attempts asks again.
    pub(super) fn asks_at(&mut self, w: usize, now: Time) -> Time {
        let worker = &self.workers[w];
        let (planned, heard, since) = (worker.until, worker.heard, worker.since);
        let deadline = worker.acquire.deadline();
        let (app, key, in_line) = (worker.app, worker.key, worker.permit.is_some());
        let channel = self.apps[app].channels.get_mut(&key).filter(|_| in_line);
        let at = channel.map_or(planned, |channel| {
            channel.announcements.ask_at(planned, heard, since, now)
        });
        at.min(deadline)
    }

    pub(super) fn ask_again(&mut self, w: usize, now: Time) {
        let worker = &self.workers[w];
        if worker.permit.is_some()
            && let Some(channel) = self.apps[worker.app].channels.get(&worker.key)
        {
            self.workers[w].heard = channel.announcements.changes();
        }
        self.ask(w, now);
    }

    /// After a refusal, announces to the others that we wait. Returns the upper bound of the random delays that keep callers
    /// apart that split the nodes between them.
    pub(super) fn after_refusal(&mut self, w: usize, why: Decision, elapsed: Duration, now: Time) -> Duration {
        let worker = &self.workers[w];
        let (app, key, since) = (worker.app, worker.key, worker.since);
        self.join(app, key, now);
        self.announce(app, key, Some(since), true, now);
        let announcements = self.join(app, key, now);
        if why == Decision::Contended {
            // Other attempts may lack answers and then say nothing about round trips.
            announcements.on_round_trip(elapsed);
        }
        announcements.spread()
    }

    /// Asks the nodes that refused how long the key will still exist.
    pub(super) fn look_up(&mut self, w: usize, holders: NodeSet, needed: usize, latest: Time, now: Time) {
        let reply_timeout = self.settings.wants_of(w).rules.reply_timeout;
        let worker = &mut self.workers[w];
        worker.stage = WorkerStage::LookingUp;
        worker.ticket += 1;
        worker.until = worker.acquire.deadline().min(now + reply_timeout);
        worker.lookup = LookUp {
            unanswered: holders,
            remaining: std::mem::take(&mut worker.lookup.remaining),
            needed,
            latest,
        };
        worker.lookup.remaining.clear();
        let (ticket, key) = (worker.ticket, short(worker.key));
        let app = worker.app;
        let first = self.connections_of(app).start;
        let worker = short(w);
        for node in holders {
            self.push(first + node, Job::Question { worker, ticket, key }, now);
        }
        self.look_at_remaining(w, now);
    }

    /// A node answered how long the key will still exist; `None` if it gave no answer.
    pub(super) fn on_remaining(&mut self, w: usize, ticket: u32, node: usize, remaining: Option<Duration>) {
        let worker = &mut self.workers[w];
        if worker.ticket == ticket && worker.stage == WorkerStage::LookingUp {
            worker.lookup.unanswered.remove(node);
            worker.lookup.remaining.extend(remaining);
            self.wake(w);
        }
    }

    /// Plans the next attempt if all nodes have answered, their time is over, or there is a reason to ask again.
    pub(super) fn look_at_remaining(&mut self, w: usize, now: Time) {
        let random = self.random.next();
        let worker = &mut self.workers[w];
        let (app, key, since) = (worker.app, worker.key, worker.since);
        let channel = self.apps[app].channels.get_mut(&key);
        let changed = channel
            .as_ref()
            .is_some_and(|channel| channel.announcements.changes() != worker.heard);
        if !worker.lookup.unanswered.is_empty() && now < worker.until && !changed {
            return;
        }
        let LookUp { needed, latest, .. } = worker.lookup;
        let remaining = std::mem::take(&mut worker.lookup.remaining);
        let at = match free_after(remaining, needed) {
            Some(remaining) if !changed => {
                let yields = channel.map_or(Duration::ZERO, |channel| channel.announcements.yield_delay(since, now));
                Acquire::on_remaining(latest, remaining, yields, random, now)
            }
            _ => latest,
        };
        self.pause_until(w, at);
    }
}
