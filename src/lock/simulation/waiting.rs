//! Waiting in line: within an app server in order of arrival, and among app servers by their announcements.

use std::time::Duration;

use super::app_server::{Channel, KeyLine, Waiter};
use super::clock::NEVER;
use super::connection::Job;
use super::event::EventKind;
use super::report::Check;
use super::units::short;
use super::worker::WorkerStage;
use super::world::World;
use crate::protocol::{Announcements, Line, NodeSet, Time, WaitAnnouncement};

impl World {
    // The line of an app server.

    pub(super) fn enter_line(&mut self, w: usize, deadline: Time, now: Time) {
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
            return self.take_permit(w, permit, false, now);
        }
        let since = worker.caller.since();
        let worker = &mut self.workers[w];
        worker.ticket += 1;
        worker.stage = WorkerStage::InLine;
        // It checks the caller ahead of it at once.
        (worker.until, worker.limit) = (now, deadline);
        let waiter = Waiter {
            worker: w,
            ticket: worker.ticket,
        };
        // Removes dead waiters at the front, so that they do not pile up while a key is held for long.
        self.front(app, key);
        if let Some(line) = self.apps[app].lines.get_mut(&key) {
            line.line.enter(since, waiter);
        }
        self.announce_front(app, key, now);
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

    fn take_permit(&mut self, w: usize, permit: u64, waited: bool, now: Time) {
        let worker = &mut self.workers[w];
        let channel = self.apps[worker.app].channels.get_mut(&worker.key);
        let channel = channel.map(|channel| &mut channel.announcements);
        worker.permit = Some(permit);
        worker.ticket += 1;
        worker.caller.on_turn(channel, waited, now);
        self.wait_until(w, now);
        self.wake(w);
    }

    /// Checks whether the lock ahead has ended without a release, and whether the time of this worker is over.
    pub(super) fn look_at_line(&mut self, w: usize, now: Time) {
        let worker = &self.workers[w];
        let (app, key, deadline) = (worker.app, worker.key, worker.limit);
        if now >= deadline {
            let refusal = worker.caller.clone().into_last();
            return self.end_refused(w, refusal, now);
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
                return self.take_permit(waiter.worker, following, true, now);
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
            self.announce_front(app, key, now);
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
    pub(super) fn join(&mut self, app: usize, key: usize, now: Time) -> &mut Announcements<u64> {
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

    /// Announces the waiters behind the present permit to the other app servers.
    fn announce_front(&mut self, app: usize, key: usize, now: Time) {
        let front = self.front(app, key);
        if let Some(channel) = self.apps[app].channels.get_mut(&key) {
            channel.used = now;
            let waited = channel.announcements.announce(front, false, now);
            self.announce(app, key, waited, now);
        }
    }

    pub(super) fn announce(&mut self, app: usize, key: usize, waited: Option<WaitAnnouncement>, now: Time) {
        if let Some(waited) = waited {
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

    /// Asks the nodes that refused how long the key will still exist.
    pub(super) fn look_up(&mut self, w: usize, held: NodeSet, until: Time, now: Time) {
        self.wait_until(w, until);
        let worker = &mut self.workers[w];
        worker.looks_up = held;
        worker.remaining.clear();
        let (ticket, key, app) = (worker.ticket, short(worker.key), worker.app);
        let first = self.connections_of(app).start;
        let worker = short(w);
        for node in held {
            self.push(first + node, Job::Question { worker, ticket, key }, now);
        }
        self.look_at_remaining(w, now);
    }

    /// A node answered how long the key will still exist; `None` if it gave no answer.
    pub(super) fn on_remaining(&mut self, w: usize, ticket: u32, node: usize, remaining: Option<Duration>) {
        let worker = &mut self.workers[w];
        if worker.ticket == ticket && worker.stage == WorkerStage::Waiting {
            worker.looks_up.remove(node);
            worker.remaining.extend(remaining);
            self.wake(w);
        }
    }

    /// Does what is due for a worker that waits; perhaps all nodes have answered.
    pub(super) fn look_at_remaining(&mut self, w: usize, now: Time) {
        let worker = &mut self.workers[w];
        if worker.looks_up.is_empty() || now >= worker.until {
            let random = self.random.next();
            let channel = self.apps[worker.app].channels.get_mut(&worker.key);
            let channel = channel.map(|channel| &mut channel.announcements);
            let remaining = std::mem::take(&mut worker.remaining);
            worker.caller.on_remaining(remaining, channel, random, now);
        }
        self.go_on(w, now);
    }
}
