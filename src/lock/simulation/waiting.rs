//! Waiting in line: within an app server in order of arrival, and among app servers by their announcements.

use std::time::Duration;

use super::app_server::Channel;
use super::clock::NEVER;
use super::connection::Job;
use super::event::EventKind;
use super::units::short;
use super::worker::WorkerStage;
use super::world::World;
use crate::protocol::{Announcements, NodeSet, Time, WaitAnnouncement};

impl World {
    // The line of an app server.

    pub(super) fn enter_line(&mut self, w: usize, deadline: Time, now: Time) {
        let ttl = self.settings.wants_of(w).rules.ttl;
        let worker = &mut self.workers[w];
        let (app, key) = (worker.app, worker.key);
        worker.promised = deadline.min(now + ttl);
        let lines = &mut self.apps[app].lines;
        let waits = lines.is_wanted(&key);
        worker.place = Some(lines.enter(&key, worker.caller.since(), worker.promised, w));
        if !waits {
            return self.take_turn(w, false, now);
        }
        (worker.stage, worker.until) = (WorkerStage::InLine, deadline);
        self.plan_watch(app);
        self.announce_waiting(app, key, now);
    }

    /// It is the turn of this worker.
    fn take_turn(&mut self, w: usize, waited: bool, now: Time) {
        let worker = &mut self.workers[w];
        let app = &mut self.apps[worker.app];
        app.turns.insert(worker.key, w);
        if waited {
            worker.promised = now;
            self.report.permits_passed_on += 1;
        }
        let channel = app.channels.get_mut(&worker.key);
        worker
            .caller
            .on_turn(channel.map(|channel| &mut channel.announcements), waited, now);
        self.wait_until(w, now);
        self.wake(w);
    }

    /// The worker will act again by this time. Returns false if it is in line and its turn is over.
    pub(super) fn promise(&mut self, w: usize, until: Time) -> bool {
        let worker = &mut self.workers[w];
        let Some(place) = worker.place else { return true };
        worker.promised = until;
        let kept = self.apps[worker.app].lines.promise(&worker.key, place, until);
        if !kept {
            worker.place = None;
            worker.caller.on_turn_over();
        }
        self.plan_watch(self.workers[w].app);
        kept
    }

    /// Refuses a worker in line whose time is over.
    pub(super) fn look_at_line(&mut self, w: usize, now: Time) {
        if now >= self.workers[w].until {
            self.check_turn(w, now);
            let refusal = self.workers[w].caller.take_last();
            self.end_refused(w, refusal, now);
        }
    }

    /// A worker no longer wants the key, or has released it: its turn passes on.
    pub(super) fn leave_line(&mut self, w: usize, now: Time) {
        let worker = &mut self.workers[w];
        let (app, key) = (worker.app, worker.key);
        let Some(place) = worker.place.take() else { return };
        let next = self.apps[app].lines.leave(&key, place, now);
        if let Some(next) = next {
            self.check_permit(w);
            self.take_turn(next, true, now);
            self.plan_watch(app);
        }
    }

    /// Passes on the turns that nobody acts on.
    pub(super) fn on_watch(&mut self, app: usize) {
        if self.apps[app].watches > self.now || self.apps[app].frozen {
            return;
        }
        self.apps[app].watches = NEVER;
        let now = self.time(app);
        let claims = &self.claims;
        let valid_until = |id: &u32| claims[*id].attempt.lease().valid_until().filter(|until| *until > now);
        for (key, next) in self.apps[app].lines.look(valid_until, now) {
            self.check_turn_over(app, key, now);
            self.take_turn(next, true, now);
        }
        self.plan_watch(app);
    }

    fn plan_watch(&mut self, app: usize) {
        let Some(due) = self.apps[app].lines.due() else { return };
        let at = self.apps[app].clock.when(due).max(self.now + 1);
        if at < self.apps[app].watches {
            self.apps[app].watches = at;
            self.events.plan(at, EventKind::Watch(short(app)));
        }
    }

    /// The lock was acquired: the turn is kept with it.
    pub(super) fn keep_turn(&mut self, w: usize, id: u32, now: Time) {
        let worker = &self.workers[w];
        let (app, key) = (worker.app, worker.key);
        if let Some(place) = worker.place {
            self.apps[app].lines.hold(&key, place, id);
            self.announce_waiting(app, key, now);
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
            announced: None,
        });
        channel.used = now;
        &mut channel.announcements
    }

    /// Tells the other app servers how long the first waiter here has waited, if anybody waits.
    pub(super) fn announce_waiting(&mut self, app: usize, key: usize, now: Time) {
        let since = self.apps[app].lines.waiting_since(&key);
        if let Some(channel) = self.apps[app].channels.get_mut(&key) {
            let waited = channel.announcements.announce(since, false, now);
            self.announce(app, key, waited, now);
            self.check_withdrawn(app, key, since, now);
        }
    }

    pub(super) fn announce(&mut self, app: usize, key: usize, waited: Option<WaitAnnouncement>, now: Time) {
        if let Some(waited) = waited {
            if let Some(channel) = self.apps[app].channels.get_mut(&key) {
                (channel.used, channel.announced) = (now, waited.waited.map(|_| now));
            }
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

    /// There is a reason to ask again: the worker whose turn it is may ask earlier.
    pub(super) fn wake_first_in_line(&mut self, app: usize, key: usize) {
        if let Some(w) = self.apps[app].turns.get(&key).copied()
            && self.workers[w].place.is_some()
            && self.workers[w].key == key
        {
            self.wake(w);
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
            let waits = self.apps[app].lines.is_wanted(&key);
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

    // The worker whose turn it is.

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
