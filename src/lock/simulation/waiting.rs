//! Waiting in line: in an app server behind those who came before, and among app servers by what they hear.

use std::time::Duration;

use super::{
    World,
    app_server::{Channel, Place, Turns},
    clock::NEVER,
    connection::Job,
    event::What,
    report::Check,
    units::short,
    worker::{LookUp, Stage},
};
use crate::protocol::{Acquire, Announcements, Decision, Line, NodeSet, Time, free_after};

impl World {
    // The line of an app server.

    pub(super) fn enter_line(&mut self, w: usize, now: Time) {
        let worker = &self.workers[w];
        let (app, key) = (worker.app, worker.key);
        if self.apps[app].lines[key].is_none() {
            let permit = self.next_permit(app);
            self.apps[app].lines[key] = Some(Turns {
                line: Line::new(permit),
                permit,
                worker: w,
                held: None,
            });
            return self.take_permit(w, permit, now);
        }
        let since = worker.since;
        let worker = &mut self.workers[w];
        worker.ticket += 1;
        worker.stage = Stage::InLine;
        // It looks at the one before it at once.
        worker.until = now;
        let place = Place {
            worker: w,
            ticket: worker.ticket,
        };
        // So that a key held for long collects no dead waiters.
        self.front(app, key);
        if let Some(queue) = &mut self.apps[app].lines[key] {
            queue.line.enter(since, place);
        }
        let front = self.front(app, key);
        self.announce(app, key, front, false, now);
    }

    /// Since when the first waits who stands behind the one who has the permit.
    fn front(&mut self, app: usize, key: usize) -> Option<Time> {
        let workers = &self.workers;
        let queue = self.apps[app].lines[key].as_mut()?;
        queue.line.front(|place| workers[place.worker].ticket != place.ticket)
    }

    fn next_permit(&mut self, app: usize) -> u64 {
        self.apps[app].last_turn += 1;
        self.apps[app].last_turn
    }

    /// A worker has the permit: it asks, once those had their time who wait for longer elsewhere.
    fn take_permit(&mut self, w: usize, permit: u64, now: Time) {
        let worker = &self.workers[w];
        let (app, key, since) = (worker.app, worker.key, worker.since);
        let (mut heard, mut at) = (0, now);
        if let Some(channel) = &mut self.apps[app].channels[key] {
            heard = channel.announcements.changes();
            at = now + channel.announcements.yield_delay(since, now);
        }
        let worker = &mut self.workers[w];
        worker.permit = Some(permit);
        worker.heard = heard;
        self.pause_until(w, at);
        self.wake(w);
    }

    /// The one in front may have lost its lock without a word; and the time of a worker in line may be over.
    pub(super) fn look_at_line(&mut self, w: usize, now: Time) {
        let worker = &self.workers[w];
        let (app, key, deadline) = (worker.app, worker.key, worker.acquire.deadline());
        if now >= deadline {
            return self.end_cycle(w);
        }
        if now < worker.until {
            return;
        }
        let (permit, held) = match &self.apps[app].lines[key] {
            Some(queue) => (queue.permit, queue.held),
            None => {
                self.violate(Check::Permit, Some(key), Some(app), || {
                    format!("worker {w} waits in a line that has ended")
                });
                (0, None)
            }
        };
        let lease = held.map(|id| self.claims[id].attempt.lease());
        let valid_until = lease.and_then(|lease| lease.valid_until()).filter(|until| *until > now);
        if held.is_some() && valid_until.is_none() {
            self.pass_on(app, key, permit, now);
        }
        let patience = self.settings.wants_of(w).rules.ttl;
        let worker = &mut self.workers[w];
        // Otherwise the permit has come to this one.
        if worker.stage == Stage::InLine {
            worker.until = valid_until.unwrap_or(now + patience).min(deadline);
        }
    }

    /// A worker wants the key no more, or has released it: its permit passes on.
    pub(super) fn leave_line(&mut self, w: usize, now: Time) {
        let permit = self.workers[w].permit.take();
        let worker = &mut self.workers[w];
        worker.ticket += 1;
        let (app, key) = (worker.app, worker.key);
        if let Some(permit) = permit {
            self.pass_on(app, key, permit, now);
        }
    }

    /// Passes on the permit of this number to the next who still waits, or ends the line.
    fn pass_on(&mut self, app: usize, key: usize, mut permit: u64, now: Time) {
        loop {
            let following = self.next_permit(app);
            let Some(queue) = self.apps[app].lines[key]
                .as_mut()
                .filter(|queue| queue.line.is_permit(permit))
            else {
                // It was taken away.
                return;
            };
            let Some(place) = queue.line.pass_on(following) else {
                self.apps[app].lines[key] = None;
                return;
            };
            (queue.permit, queue.worker, queue.held) = (following, place.worker, None);
            if self.workers[place.worker].ticket == place.ticket {
                self.report.permits_passed_on += 1;
                return self.take_permit(place.worker, following, now);
            }
            permit = following;
        }
    }

    /// The lock was acquired: the permit is kept with it.
    pub(super) fn keep_turn(&mut self, w: usize, id: u32, now: Time) {
        let worker = &self.workers[w];
        let (app, key, permit) = (worker.app, worker.key, worker.permit);
        if let Some(queue) = &mut self.apps[app].lines[key]
            && permit.is_some_and(|permit| queue.line.is_permit(permit))
        {
            queue.held = Some(id);
            let front = self.front(app, key);
            self.announce(app, key, front, false, now);
        }
    }

    fn turn_of(&self, app: usize, key: usize) -> Option<u64> {
        self.apps[app].lines[key].as_ref().map(|queue| queue.permit)
    }

    /// Nobody asks in line without the permit.
    pub(super) fn check_turn(&mut self, w: usize) {
        let worker = &self.workers[w];
        let (app, key, permit) = (worker.app, worker.key, worker.permit);
        let present = self.turn_of(app, key);
        if self.is_in_line(w) && (permit.is_none() || permit != present) {
            self.violate(Check::Permit, Some(key), Some(app), || {
                format!("worker {w} asks with permit {permit:?}, the present one is {present:?}")
            });
        }
    }

    // What is heard from others.

    /// The channel of a key, joined if need be.
    fn join(&mut self, app: usize, key: usize, now: Time) -> &mut Announcements<u64> {
        if self.apps[app].channels[key].is_none() {
            self.subscribe(app, key);
        }
        let (id, nodes) = (self.apps[app].id, self.settings.nodes);
        if self.apps[app].sweeps == NEVER {
            self.plan_sweep(app, now + self.settings.channel_idle);
        }
        let channel = self.apps[app].channels[key].get_or_insert_with(|| Channel {
            announcements: Announcements::new(id, nodes, now),
            used: now,
        });
        channel.used = now;
        &mut channel.announcements
    }

    /// Tells the other app servers about those of this one who wait for the key.
    fn announce(&mut self, app: usize, key: usize, since: Option<Time>, asked: bool, now: Time) {
        let Some(channel) = &mut self.apps[app].channels[key] else {
            return;
        };
        channel.used = now;
        if let Some(waited) = channel.announcements.announce(since, asked, now) {
            for c in self.connections_of(app) {
                let waited = Box::new(waited);
                let key = short(key);
                self.push(c, Job::Tell { key, waited }, now);
            }
        }
    }

    /// A node told somebody of a release of ours. If it does not tell us, too, we join to hear whether others wait.
    pub(super) fn on_told(&mut self, app: usize, node: usize, key: usize, now: Time) {
        let channel = self.apps[app].channels[key].as_ref();
        if !channel.is_some_and(|channel| channel.announcements.is_subscribed(node)) {
            self.join(app, key, now).on_others(now);
        }
    }

    /// There is news: who has the permit asks earlier, perhaps.
    pub(super) fn tell_first_in_line(&mut self, app: usize, key: usize) {
        if let Some(queue) = &self.apps[app].lines[key] {
            self.wake(queue.worker);
        }
    }

    fn plan_sweep(&mut self, app: usize, at: Time) {
        let at = self.apps[app].clock.when(at).max(self.now + 1);
        self.apps[app].sweeps = at;
        self.events.plan(at, What::Sweep(short(app)));
    }

    pub(super) fn on_sweep(&mut self, app: usize) {
        if self.apps[app].sweeps == self.now && !self.apps[app].frozen {
            self.sweep_if_due(app);
        }
    }

    /// Leaves the channels that nobody has used for long.
    pub(super) fn sweep_if_due(&mut self, app: usize) {
        if self.apps[app].sweeps > self.now {
            return;
        }
        self.apps[app].sweeps = NEVER;
        let now = self.time(app);
        let idle = self.settings.channel_idle;
        let mut next = None;
        for key in 0..self.settings.keys {
            let waits = self.apps[app].lines[key].is_some();
            let Some(channel) = &mut self.apps[app].channels[key] else {
                continue;
            };
            if waits {
                channel.used = now;
            }
            let end = channel.used + idle;
            if end <= now {
                self.apps[app].channels[key] = None;
                self.unsubscribe(app, key);
            } else {
                next = Some(next.map_or(end, |next: Time| next.min(end)));
            }
        }
        if let Some(next) = next {
            self.plan_sweep(app, next);
        }
    }

    // The one who has the permit.

    /// When a worker that waits between attempts asks again.
    pub(super) fn asks_at(&mut self, w: usize, now: Time) -> Time {
        let worker = &self.workers[w];
        let (planned, heard, since) = (worker.until, worker.heard, worker.since);
        let deadline = worker.acquire.deadline();
        let (app, key, in_line) = (worker.app, worker.key, worker.permit.is_some());
        let channel = self.apps[app].channels[key].as_mut().filter(|_| in_line);
        let at = channel.map_or(planned, |channel| {
            channel.announcements.ask_at(planned, heard, since, now)
        });
        at.min(deadline)
    }

    pub(super) fn ask_again(&mut self, w: usize, now: Time) {
        let worker = &self.workers[w];
        if worker.permit.is_some()
            && let Some(channel) = &self.apps[worker.app].channels[worker.key]
        {
            self.workers[w].heard = channel.announcements.changes();
        }
        self.ask(w, now);
    }

    /// Who was refused tells the others that it waits. The spread that keeps those apart who took nodes from each other.
    pub(super) fn after_refusal(&mut self, w: usize, why: Decision, elapsed: Duration, now: Time) -> Duration {
        let worker = &self.workers[w];
        let (app, key, since) = (worker.app, worker.key, worker.since);
        self.join(app, key, now);
        self.announce(app, key, Some(since), true, now);
        let announcements = self.join(app, key, now);
        if why == Decision::Contended {
            // Without an answer it says nothing about round trips.
            announcements.on_round_trip(elapsed);
        }
        announcements.spread()
    }

    /// Asks the nodes that refused for how long the key is still there.
    pub(super) fn look_up(&mut self, w: usize, holders: NodeSet, needed: usize, latest: Time, now: Time) {
        let reply_timeout = self.settings.wants_of(w).rules.reply_timeout;
        let worker = &mut self.workers[w];
        worker.stage = Stage::LookingUp;
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

    /// A node says how long the key is still there; none if it does not say.
    pub(super) fn on_remaining(&mut self, w: usize, ticket: u32, node: usize, remaining: Option<Duration>) {
        let worker = &mut self.workers[w];
        if worker.ticket == ticket && worker.stage == Stage::LookingUp {
            worker.lookup.unanswered.remove(node);
            worker.lookup.remaining.extend(remaining);
            self.wake(w);
        }
    }

    /// Plans the next attempt if all have answered, or their time is over, or there is news.
    pub(super) fn look_at_remaining(&mut self, w: usize, now: Time) {
        let random = self.random.next();
        let worker = &mut self.workers[w];
        let (app, key, since) = (worker.app, worker.key, worker.since);
        let channel = self.apps[app].channels[key].as_mut();
        let news = channel
            .as_ref()
            .is_some_and(|channel| channel.announcements.changes() != worker.heard);
        if !worker.lookup.unanswered.is_empty() && now < worker.until && !news {
            return;
        }
        let LookUp { needed, latest, .. } = worker.lookup;
        let remaining = std::mem::take(&mut worker.lookup.remaining);
        let at = match free_after(remaining, needed) {
            Some(remaining) if !news => {
                let yields = channel.map_or(Duration::ZERO, |channel| channel.announcements.yield_delay(since, now));
                Acquire::on_remaining(latest, remaining, yields, random, now)
            }
            _ => latest,
        };
        self.pause_until(w, at);
    }
}
