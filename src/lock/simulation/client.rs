//! The app server's side of a connection: commands that are queued, written, answered and owed.

use std::time::Duration;

use super::clock::NEVER;
use super::connection::{Connection, FIRST_CONNECTION_WAIT, Job, Phase, Reply, Request};
use super::event::EventKind;
use super::report::Check;
use super::units::{nanos, short};
use super::world::World;
use crate::protocol::{Answer, Command, Effect, Suspicion, Time};

impl World {
    // Queueing.

    /// Queues a command, or fails it at once if it can't be sent now; deletes are owed in that case.
    pub(super) fn push(&mut self, c: usize, job: Job, now: Time) {
        let connection = &mut self.connections[c];
        let admitted = connection.link.admit(job.command(), connection.queue.len());
        let node = connection.node;
        match (admitted, &job) {
            (Ok(()), Job::Set { .. }) => connection.room += 1,
            (Ok(()), _) => {}
            (Err(_), Job::Delete { claim, .. }) => {
                // The caller is told that it failed now, but the key must still be deleted.
                let claim = *claim;
                let effect = self.claims[claim].attempt.on_deleted(node, Answer::Never, now);
                self.apply(claim, effect);
                if effect.finished {
                    self.finish_attempt(c);
                    return;
                }
            }
            (Err(_), _) => {
                self.fail(c, job, Answer::Never, false, now);
                return;
            }
        }
        if let Some(claim) = job.claim() {
            self.claims[claim].jobs += 1;
        }
        self.connections[c].queue.push_back(job);
        if self.lag == 0 {
            self.write(c);
        } else if self.connections[c].writes == NEVER {
            let at = self.now + self.draw_lag();
            self.connections[c].writes = at;
            self.events.plan(at, EventKind::Write(short(c)));
        }
    }

    /// Tells the asker of a command other than a delete that there will be no answer. `counted`: the connection had admitted
    /// it.
    #[expect(clippy::needless_pass_by_value, reason = "a job that failed is over")]
    fn fail(&mut self, c: usize, job: Job, answer: Answer, counted: bool, now: Time) {
        let node = self.connections[c].node;
        match job {
            Job::Set { claim, asked } => {
                let effect = self.claims[claim].attempt.on_vote(node, asked, answer, now);
                self.claims[claim].asked.remove(node);
                if counted && effect.finished {
                    self.finish_attempt(c);
                }
                self.apply(claim, effect);
            }
            Job::Extend { claim, asked } => {
                let effect = self.claims[claim].attempt.on_extended(node, asked, answer, now);
                self.apply(claim, effect);
            }
            Job::Question { worker, ticket, .. } => self.on_remaining(worker as usize, ticket, node, None),
            Job::Delete { .. } | Job::Publish { .. } => {}
        }
    }

    /// An attempt is finished on the node of this connection.
    fn finish_attempt(&mut self, c: usize) {
        let connection = &mut self.connections[c];
        connection.link.on_finished(1);
        connection.room -= 1;
        if connection.room < 0 {
            connection.room = 0;
            let (app, node) = (connection.app, connection.node);
            self.violate(Check::Room, None, Some(app), || {
                format!("an attempt has finished on node {node} more often than it began there")
            });
        }
    }

    // Writing.

    pub(super) fn on_write(&mut self, c: usize) {
        if self.connections[c].writes == self.now && !self.apps[self.connections[c].app].frozen {
            self.write(c);
        }
    }

    /// Writes queued commands, as many as the window allows.
    pub(super) fn write(&mut self, c: usize) {
        let app = self.connections[c].app;
        let now = self.time(app);
        self.connections[c].writes = NEVER;
        if !self.connections[c].queue.is_empty() && self.connections[c].phase == Phase::Up {
            self.suspect_if_overdue(c, now);
        }
        loop {
            let connection = &mut self.connections[c];
            if connection.phase != Phase::Up || connection.written.len() >= self.settings.window {
                return;
            }
            let Some(job) = connection.queue.pop_front() else {
                return;
            };
            self.write_one(c, job, now);
        }
    }

    fn write_one(&mut self, c: usize, job: Job, now: Time) {
        let (app, node, suspect) = {
            let connection = &self.connections[c];
            (connection.app, connection.node, connection.suspect)
        };
        let request = match &job {
            Job::Set { claim: id, .. } => {
                let claim = &mut self.claims[*id];
                if !claim.attempt.on_written(node, now) {
                    self.report.withdrawn += 1;
                    self.finish_attempt(c);
                    self.drop_job(*id);
                    return;
                }
                claim.owes.insert(node);
                claim.asked.insert(node);
                Request::Set {
                    key: short(claim.key),
                    ttl: millis(claim.attempt.rules().ttl),
                    token: claim.token,
                }
            }
            Job::Extend { claim, .. } => {
                let claim = &self.claims[*claim];
                Request::Extend {
                    key: short(claim.key),
                    ttl: millis(claim.attempt.rules().ttl),
                    token: claim.token,
                }
            }
            Job::Delete { claim, announce } => {
                let claim = &self.claims[*claim];
                let (key, token, was_held) = (claim.key, claim.token, claim.was_held);
                if *announce && !was_held {
                    self.violate(Check::Announcement, Some(key), Some(app), || {
                        format!("a lock that was never held, of token {token}, is announced as released on node {node}")
                    });
                }
                Request::Delete {
                    key: short(key),
                    announce: *announce,
                    token,
                }
            }
            Job::Question { key, .. } => Request::Remaining { key: *key },
            Job::Publish { key, waited } => Request::Publish {
                key: *key,
                waited: waited.clone(),
            },
        };
        if suspect && job.command() != Some(Command::Delete) {
            let what = job.command();
            self.violate(Check::Suspect, None, Some(app), || {
                format!("node {node} owes answers for too long and is asked for {what:?}")
            });
        }
        self.report.commands.count(job.command());
        let at = self.now + self.draw_command_delay(app) + self.connections[c].late[0];
        let connection = &mut self.connections[c];
        connection.written.push_back((job, now));
        if let Some(at) = connection.requests.send(at, request) {
            self.events.plan(at, EventKind::Requests(short(c)));
        }
        if self.connections[c].alarm == NEVER {
            self.look_at_alarm(c);
        }
    }

    // Answers.

    pub(super) fn on_replies(&mut self, c: usize) {
        if self.connections[c].replies.fires(self.now) && !self.apps[self.connections[c].app].frozen {
            self.read(c);
        }
    }

    /// Takes all answers that have arrived.
    pub(super) fn read(&mut self, c: usize) {
        let now = self.time(self.connections[c].app);
        while let Some(reply) = self.connections[c].replies.take(self.now) {
            match reply {
                Reply::Welcome => self.connected(c, now),
                Reply::Refused | Reply::Broken => self.disconnected(c, now),
                reply => self.answered(c, reply, now),
            }
        }
        if let Some(at) = self.connections[c].replies.plan(self.now) {
            self.events.plan(at, EventKind::Replies(short(c)));
        }
        self.write(c);
    }

    fn answered(&mut self, c: usize, reply: Reply, now: Time) {
        let connection = &mut self.connections[c];
        let (app, node) = (connection.app, connection.node);
        // A node sends no answer without a command.
        let Some((job, _)) = connection.written.pop_front() else {
            return;
        };
        connection.suspect = false;
        if connection.suspicion.on_answers(now) {
            connection.link.on_trusted();
            self.look_at_alarm(c);
        }
        match (job, reply) {
            (Job::Set { claim: id, asked }, Reply::Done(granted)) => {
                let claim = &mut self.claims[id];
                claim.asked.remove(node);
                if granted {
                    claim.granted.insert(node);
                    self.report.late_votes += u64::from(claim.attempt.is_held());
                    self.report.repairs += u64::from(claim.attempt.is_held() && asked > claim.attempt.start());
                } else {
                    claim.owes.remove(node);
                }
                let answer = if granted { Answer::Yes } else { Answer::No };
                let effect = claim.attempt.on_vote(node, asked, answer, now);
                self.settle(c, id, effect);
            }
            (Job::Extend { claim: id, asked }, Reply::Done(extended)) => {
                let claim = &mut self.claims[id];
                if extended {
                    self.report.extensions += 1;
                    claim.granted.insert(node);
                } else if !claim.asked.contains(node) {
                    claim.owes.remove(node);
                    claim.granted.remove(node);
                }
                let answer = if extended { Answer::Yes } else { Answer::No };
                let effect = claim.attempt.on_extended(node, asked, answer, now);
                self.settle(c, id, effect);
            }
            (Job::Delete { claim: id, .. }, Reply::Deleted(told)) => {
                let claim = &mut self.claims[id];
                claim.owes.remove(node);
                let answer = if told.is_some() { Answer::Yes } else { Answer::No };
                let (key, effect) = (claim.key, claim.attempt.on_deleted(node, answer, now));
                self.settle(c, id, effect);
                if told.is_some_and(|told| told > 0) {
                    self.on_release_delivered(app, node, key, now);
                }
            }
            (Job::Question { worker, ticket, .. }, Reply::Remaining(remaining)) => {
                // Rounded up, since the key still exists in its last millisecond.
                let remaining = remaining.map_or(Duration::ZERO, |millis| Duration::from_millis(millis + 1));
                self.on_remaining(worker as usize, ticket, node, Some(remaining));
            }
            // The reply to a publish needs nothing. Other pairs can't occur, since a node answers in order.
            _ => {}
        }
    }

    /// A command of a claim has been answered.
    fn settle(&mut self, c: usize, id: u32, effect: Effect) {
        if effect.finished {
            self.finish_attempt(c);
        }
        self.apply(id, effect);
        self.drop_job(id);
    }

    // Suspicion.

    pub(super) fn on_alarm(&mut self, c: usize) {
        if self.connections[c].alarm == self.now && !self.apps[self.connections[c].app].frozen {
            self.look_at_alarm(c);
        }
    }

    /// Looks at the alarm after a freeze, during which its time may have passed.
    pub(super) fn alarm_if_due(&mut self, c: usize) {
        if self.connections[c].alarm <= self.now {
            self.look_at_alarm(c);
        }
    }

    /// Checks whether the node has owed an answer for too long, and sets the alarm for the next time at which it might.
    fn look_at_alarm(&mut self, c: usize) {
        let app = self.connections[c].app;
        let now = self.time(app);
        let connection = &mut self.connections[c];
        connection.alarm = NEVER;
        if connection.begun && connection.phase == Phase::Connecting {
            return self.suspect(c, now);
        }
        if self.suspect_if_overdue(c, now) {
            return;
        }
        let (oldest, timeout) = self.oldest(c);
        if let Some(at) = self.connections[c].suspicion.next_timeout(oldest, timeout) {
            let at = self.apps[app].clock.when(at) + self.draw_lag();
            self.plan_alarm(c, at);
        }
    }

    /// Makes the node suspect if it has owed an answer for too long; then only deletes are written until it answers. Returns
    /// whether it did.
    fn suspect_if_overdue(&mut self, c: usize, now: Time) -> bool {
        let (oldest, timeout) = self.oldest(c);
        let overdue = self.connections[c].suspicion.on_timeout(oldest, timeout, now);
        if overdue {
            self.suspect(c, now);
        }
        overdue
    }

    /// When the oldest unanswered command was written, and how long the node may take to answer it.
    fn oldest(&self, c: usize) -> (Option<Time>, Duration) {
        let front = self.connections[c].written.front();
        let timeout = match front.and_then(|(job, _)| job.claim()) {
            Some(claim) => self.claims[claim].attempt.rules().reply_timeout,
            None => self.settings.longest_reply_timeout(),
        };
        (front.map(|(_, written)| *written), timeout)
    }

    fn plan_alarm(&mut self, c: usize, at: u64) {
        self.connections[c].alarm = at;
        self.events.plan(at, EventKind::Alarm(short(c)));
    }

    /// The node owes answers for too long: unwritten commands fail, except for deletes.
    fn suspect(&mut self, c: usize, now: Time) {
        self.report.suspicions += 1;
        self.note(|world| {
            let Connection { app, node, .. } = world.connections[c];
            format!("app server {app} suspects node {node}")
        });
        let connection = &mut self.connections[c];
        connection.link.on_suspect();
        connection.suspect = true;
        let queue = std::mem::take(&mut connection.queue);
        self.fail_all(c, queue, Answer::Never, now);
    }

    /// Fails commands; deletes that are still owed are kept, in their order.
    fn fail_all(&mut self, c: usize, jobs: impl IntoIterator<Item = Job>, answer: Answer, now: Time) {
        let node = self.connections[c].node;
        for job in jobs {
            let claim = job.claim();
            if let Job::Delete { claim: id, .. } = job {
                let effect = self.claims[id].attempt.on_deleted(node, answer, now);
                self.apply(id, effect);
                if !effect.finished {
                    self.connections[c].queue.push_back(job);
                    continue;
                }
                self.finish_attempt(c);
            } else {
                self.fail(c, job, answer, true, now);
            }
            if let Some(claim) = claim {
                self.drop_job(claim);
            }
        }
    }

    // Connecting.

    pub(super) fn on_connect(&mut self, c: usize) {
        if self.connections[c].connects == self.now && !self.apps[self.connections[c].app].frozen {
            self.connect(c);
        }
    }

    /// Connects if it is time to.
    pub(super) fn connect_if_due(&mut self, c: usize) {
        if self.connections[c].connects <= self.now {
            self.connect(c);
        }
    }

    pub(super) fn connect(&mut self, c: usize) {
        let at = self.now + self.draw_delay() + self.connections[c].late[0];
        let connection = &mut self.connections[c];
        connection.connects = NEVER;
        connection.phase = Phase::Connecting;
        if let Some(at) = connection.requests.send(at, Request::Greet) {
            self.events.plan(at, EventKind::Requests(short(c)));
        }
        if self.connections[c].begun {
            let at = self.now + nanos(FIRST_CONNECTION_WAIT);
            self.plan_alarm(c, at);
        }
    }

    fn connected(&mut self, c: usize, now: Time) {
        let connection = &mut self.connections[c];
        connection.phase = Phase::Up;
        (connection.begun, connection.suspect) = (false, false);
        connection.link.on_connected();
        connection.suspicion = Suspicion::new(now);
        // Deletes of keys that have expired meanwhile are no longer owed.
        let queue = std::mem::take(&mut connection.queue);
        let (owed, waiting): (Vec<_>, Vec<_>) = queue.into_iter().partition(|job| matches!(job, Job::Delete { .. }));
        self.fail_all(c, owed, Answer::Never, now);
        let connection = &mut self.connections[c];
        self.report.owed += connection.queue.len() as u64;
        connection.queue.extend(waiting);
    }

    fn disconnected(&mut self, c: usize, now: Time) {
        let connection = &mut self.connections[c];
        connection.phase = Phase::Down;
        (connection.begun, connection.suspect, connection.ending, connection.open) = (false, false, false, false);
        connection.link.on_disconnected();
        connection.requests.clear();
        connection.alarm = NEVER;
        let written = std::mem::take(&mut connection.written);
        let queue = std::mem::take(&mut connection.queue);
        self.fail_all(c, written.into_iter().map(|(job, _)| job), Answer::Unknown, now);
        self.fail_all(c, queue, Answer::Never, now);
        let at = self.now + nanos(self.settings.reconnect) + self.draw_lag();
        self.connections[c].connects = at;
        self.events.plan(at, EventKind::Connect(short(c)));
    }
}

/// A TTL in milliseconds, as nodes are sent it.
fn millis(ttl: Duration) -> u32 {
    u32::try_from(ttl.as_millis()).unwrap_or(u32::MAX)
}
