//! The app server's side of a connection: commands that are queued, written, answered and owed.

use std::time::Duration;

use super::claims::Claim;
use super::clock::NEVER;
use super::connection::Job;
use super::event::EventKind;
use super::report::Check;
use super::socket::{Phase, Reply, Request, Socket};
use super::units::{nanos, short};
use super::world::World;
use crate::protocol::{Answer, Command, Effect, Letter, Link, NodeSet, Obstacle, Pipeline, Time};

impl World {
    // Queueing.

    /// Queues a command of a claim for these nodes.
    pub(super) fn send(&mut self, claim: u32, nodes: NodeSet, command: Command, announce: bool, asked: Time) {
        let &Claim {
            app, worker, was_held, ..
        } = &self.claims[claim];
        let first = self.connections_of(app).start;
        // A vote that repairs a held lock is worth waiting for.
        let limited = command == Command::Set && !was_held;
        let patience = limited.then(|| self.workers[worker].limit - asked);
        for node in nodes {
            let job = Job::Lock {
                command,
                claim,
                asked,
                announce,
                patience: patience.unwrap_or(Duration::MAX),
            };
            self.push(first + node, job, asked);
        }
    }

    /// Queues a command, or fails it at once if it can't be sent now; deletes are owed in that case.
    pub(super) fn push(&mut self, c: usize, job: Job, now: Time) {
        let (command, claim) = (job.command(), job.claim());
        match self.connections[c].mailbox.push(job) {
            None => self.connections[c].room += i64::from(command == Some(Command::Set)),
            // The caller is told that it failed now, but a key must still be deleted.
            Some((job, obstacle)) => {
                if obstacle == Obstacle::Overloaded {
                    self.check_overload(c);
                }
                let Some(owed) = self.fail(c, job, Answer::Never, false, now) else {
                    return;
                };
                self.connections[c].mailbox.owe([owed]);
            }
        }
        if let Some(claim) = claim {
            self.claims[claim].jobs += 1;
        }
        if self.lag == 0 {
            self.write(c);
        } else if self.connections[c].writes == NEVER {
            let at = self.now + self.draw_lag();
            self.connections[c].writes = at;
            self.events.plan(at, EventKind::Write(short(c)));
        }
    }

    /// A command was turned away because of those ahead.
    fn check_overload(&mut self, c: usize) {
        self.report.overloads += 1;
        if self.connections[c].mailbox.is_empty() {
            let Socket { app, node, .. } = self.sockets[c];
            self.violate(Check::Overload, None, Some(app), || {
                format!("a vote of node {node} is not asked for although nothing is ahead of it")
            });
        }
    }

    /// Tells the asker of a command that there will be no answer. `counted`: the connection had admitted it. Returns a delete
    /// that is still owed.
    fn fail(&mut self, c: usize, job: Job, answer: Answer, counted: bool, now: Time) -> Option<Job> {
        let node = self.sockets[c].node;
        match job {
            Job::Lock {
                command, claim, asked, ..
            } => {
                let effect = self.take(claim, node, command, asked, answer, now);
                if effect.finished && (counted || command != Command::Set) {
                    self.finish_attempt(c);
                }
                self.apply(claim, effect);
                (command == Command::Delete && !effect.finished).then_some(job)
            }
            Job::Question { worker, ticket, .. } => {
                self.on_remaining(worker as usize, ticket, node, None);
                None
            }
            Job::Publish { .. } => None,
        }
    }

    /// An attempt takes what is known of a command.
    fn take(&mut self, id: u32, node: usize, command: Command, asked: Time, answer: Answer, now: Time) -> Effect {
        let claim = &mut self.claims[id];
        match command {
            Command::Set => {
                if answer != Answer::Unknown {
                    claim.asked.remove(node);
                }
                claim.attempt.on_vote(node, asked, answer, now)
            }
            Command::Extend => claim.attempt.on_extended(node, asked, answer, now),
            Command::Delete => claim.attempt.on_deleted(node, answer, now),
        }
    }

    /// An attempt is finished on the node of this connection.
    fn finish_attempt(&mut self, c: usize) {
        let connection = &mut self.connections[c];
        connection.mailbox.link_mut().on_finished(1);
        connection.room -= 1;
        if connection.room < 0 {
            connection.room = 0;
            let Socket { app, node, .. } = self.sockets[c];
            self.violate(Check::Room, None, Some(app), || {
                format!("an attempt has finished on node {node} more often than it began there")
            });
        }
    }

    // Writing.

    pub(super) fn on_write(&mut self, c: usize) {
        if self.connections[c].writes == self.now && !self.is_frozen(c) {
            self.write(c);
        }
    }

    /// Writes queued commands, as many as the window allows.
    fn write(&mut self, c: usize) {
        let now = self.time(self.sockets[c].app);
        self.connections[c].writes = NEVER;
        if self.sockets[c].phase != Phase::Up {
            return;
        }
        if !self.connections[c].mailbox.is_empty() {
            self.suspect_if_overdue(c, now);
        }
        while let Some(job) = self.connections[c].next() {
            self.write_one(c, job, now);
        }
    }

    fn write_one(&mut self, c: usize, job: Job, now: Time) {
        let Socket { app, node, .. } = self.sockets[c];
        let request = match &job {
            &Job::Lock {
                command,
                claim: id,
                announce,
                ..
            } => {
                let claim = &mut self.claims[id];
                if command == Command::Set {
                    if !claim.attempt.on_written(node, now) {
                        self.report.withdrawn += 1;
                        self.finish_attempt(c);
                        self.drop_job(id);
                        return;
                    }
                    claim.owes.insert(node);
                    claim.asked.insert(node);
                }
                if command == Command::Extend && !claim.attempt.on_extension_written(node, now) {
                    self.report.withdrawn += 1;
                    self.drop_job(id);
                    return;
                }
                let (key, token, was_held) = (claim.key, claim.token, claim.was_held);
                let ttl = millis(claim.attempt.rules().ttl);
                if announce && !was_held {
                    self.violate(Check::Announcement, Some(key), Some(app), || {
                        format!("a lock that was never held, of token {token}, is announced as released on node {node}")
                    });
                }
                Request::Lock {
                    command,
                    key: short(key),
                    ttl,
                    token,
                    announce,
                }
            }
            Job::Question { key, .. } => Request::Remaining { key: *key },
            Job::Publish { key, waited } => Request::Publish {
                key: *key,
                waited: waited.clone(),
            },
        };
        if self.connections[c].suspect && job.command() != Some(Command::Delete) {
            let what = job.command();
            self.violate(Check::Suspect, None, Some(app), || {
                format!("node {node} owes answers for too long and is asked for {what:?}")
            });
        }
        self.report.commands.count(job.command());
        let takes = self.draw_command_delay(app);
        self.connections[c].pipeline.on_written(job, now);
        let under_way = self.connections[c].pipeline.written().len();
        if under_way > self.settings.window {
            self.violate(Check::Window, None, Some(app), || {
                format!("{under_way} commands are under way to node {node}")
            });
        }
        self.request(c, request, takes);
        if self.connections[c].alarm == NEVER {
            self.look_at_alarm(c);
        }
    }

    /// Sends a message that takes so long to the node.
    pub(super) fn request(&mut self, s: usize, request: Request, takes: u64) {
        let socket = &mut self.sockets[s];
        if let Some(at) = socket.requests.send(self.now + takes + socket.late[0], request) {
            self.events.plan(at, EventKind::Requests(short(s)));
        }
    }

    // Answers.

    pub(super) fn on_replies(&mut self, s: usize) {
        if self.sockets[s].replies.fires(self.now) && !self.is_frozen(s) {
            self.read(s);
        }
    }

    /// Takes all answers that have arrived.
    pub(super) fn read(&mut self, s: usize) {
        let now = self.time(self.sockets[s].app);
        let is_feed = self.is_feed(s);
        while let Some(reply) = self.sockets[s].replies.take(self.now) {
            match reply {
                Reply::Welcome => self.connected(s, now),
                Reply::Refused | Reply::Broken => self.disconnected(s, now),
                reply if is_feed => self.hear(s, reply, now),
                reply => self.answered(s, reply, now),
            }
        }
        if let Some(at) = self.sockets[s].replies.plan(self.now) {
            self.events.plan(at, EventKind::Replies(short(s)));
        }
        if !is_feed {
            self.connections[s].pipeline.on_looked(now);
            self.write(s);
        }
    }

    fn answered(&mut self, c: usize, reply: Reply, now: Time) {
        let Socket { app, node, .. } = self.sockets[c];
        let connection = &mut self.connections[c];
        // A node sends no answer without a command.
        let Some((job, written)) = connection.pipeline.pop() else {
            return;
        };
        connection.suspect = false;
        let timeout = self.settings.longest_reply_timeout();
        if connection.pipeline.on_answers(Some(written), timeout, now) {
            connection.mailbox.link_mut().on_trusted();
            self.look_at_alarm(c);
        }
        match (job, reply) {
            (
                Job::Lock {
                    command,
                    claim: id,
                    asked,
                    ..
                },
                Reply::Done(number),
            ) => {
                let (done, claim) = (number > 0, &mut self.claims[id]);
                match command {
                    Command::Set if done => {
                        claim.granted.insert(node);
                        self.report.late_votes += u64::from(claim.attempt.is_held());
                        self.report.repairs += u64::from(claim.attempt.is_held() && asked > claim.attempt.start());
                    }
                    Command::Extend if done => {
                        self.report.extensions += 1;
                        claim.granted.insert(node);
                        claim.asked.remove(node);
                    }
                    Command::Extend if claim.asked.contains(node) => {}
                    Command::Extend => {
                        claim.owes.remove(node);
                        claim.granted.remove(node);
                    }
                    Command::Set | Command::Delete => _ = claim.owes.remove(node),
                }
                let (key, answer) = (claim.key, if done { Answer::Yes } else { Answer::No });
                let effect = self.take(id, node, command, asked, answer, now);
                if effect.finished {
                    self.finish_attempt(c);
                }
                self.apply(id, effect);
                self.drop_job(id);
                if number > 1 {
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

    // Suspicion.

    /// Looks at the alarm if it is time to, perhaps only after a freeze.
    pub(super) fn on_alarm(&mut self, c: usize) {
        if self.connections[c].alarm <= self.now && !self.is_frozen(c) {
            self.look_at_alarm(c);
        }
    }

    /// Checks whether the node has owed an answer for too long, and sets the alarm for the next time at which it might.
    fn look_at_alarm(&mut self, c: usize) {
        let app = self.sockets[c].app;
        let now = self.time(app);
        let connection = &mut self.connections[c];
        connection.alarm = NEVER;
        if connection.begun && self.sockets[c].phase == Phase::Connecting {
            return self.suspect(c, now);
        }
        if self.suspect_if_overdue(c, now) {
            return;
        }
        let (oldest, timeout) = self.oldest(c);
        if let Some(at) = self.connections[c].pipeline.next_timeout(oldest, timeout) {
            let at = self.apps[app].clock.when(at) + self.draw_lag();
            self.plan_alarm(c, at);
        }
    }

    /// Makes the node suspect if it has owed an answer for too long; then only deletes are written until it answers. Returns
    /// whether it did.
    fn suspect_if_overdue(&mut self, c: usize, now: Time) -> bool {
        let (oldest, timeout) = self.oldest(c);
        let overdue = self.connections[c].pipeline.on_timeout(oldest, timeout, now);
        if overdue {
            self.suspect(c, now);
        }
        overdue
    }

    /// When the oldest unanswered command was written, and how long the node may take to answer it.
    fn oldest(&self, c: usize) -> (Option<Time>, Duration) {
        let front = self.connections[c].pipeline.written().front();
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
        let Socket { app, node, .. } = self.sockets[c];
        self.note(|_| format!("app server {app} suspects node {node}"));
        let connection = &mut self.connections[c];
        let queue = connection.mailbox.on_suspect();
        connection.suspect = true;
        self.fail_all(c, queue, Answer::Never, now);
    }

    /// Fails commands; deletes that are still owed are kept, in their order.
    fn fail_all(&mut self, c: usize, jobs: impl IntoIterator<Item = Job>, answer: Answer, now: Time) {
        for job in jobs {
            let claim = job.claim();
            if let Some(owed) = self.fail(c, job, answer, true, now) {
                self.connections[c].mailbox.owe([owed]);
            } else if let Some(claim) = claim {
                self.drop_job(claim);
            }
        }
    }

    // Connecting.

    /// Connects if it is time to, perhaps only after a freeze.
    pub(super) fn on_connect(&mut self, s: usize) {
        if self.sockets[s].connects <= self.now && !self.is_frozen(s) {
            self.connect(s);
        }
    }

    pub(super) fn connect(&mut self, s: usize) {
        (self.sockets[s].connects, self.sockets[s].phase) = (NEVER, Phase::Connecting);
        let takes = self.draw_delay();
        self.request(s, Request::Greet, takes);
        if !self.is_feed(s) && self.connections[s].begun {
            let at = self.now + nanos(Link::connection_wait(self.settings.longest_reply_timeout()));
            self.plan_alarm(s, at);
        }
    }

    fn connected(&mut self, s: usize, now: Time) {
        self.sockets[s].phase = Phase::Up;
        if self.is_feed(s) {
            return self.subscribe_again(s);
        }
        let connection = &mut self.connections[s];
        (connection.begun, connection.suspect, connection.since) = (false, false, Some(now));
        connection.mailbox.link_mut().on_connected();
        self.report.owed += connection.mailbox.urgent() as u64;
    }

    fn disconnected(&mut self, s: usize, now: Time) {
        let socket = &mut self.sockets[s];
        (socket.phase, socket.open, socket.ending) = (Phase::Down, false, false);
        socket.requests.clear();
        let mut pause = self.settings.reconnect;
        if self.is_feed(s) {
            self.on_unsubscribed(s, now);
        } else {
            let connection = &mut self.connections[s];
            // Commands wait for the connection after one that had lasted.
            let reconnecting = connection.since.take().is_some_and(|since| now - since > pause);
            (connection.begun, connection.suspect, connection.alarm) = (reconnecting, false, NEVER);
            let queue = connection.mailbox.on_disconnected(reconnecting);
            let fresh = Pipeline::new(self.settings.window, now);
            let written = std::mem::replace(&mut connection.pipeline, fresh).into_written();
            self.fail_all(s, written, Answer::Unknown, now);
            self.fail_all(s, queue, Answer::Never, now);
            if reconnecting {
                pause = Duration::ZERO;
            }
        }
        let at = self.now + nanos(pause) + self.draw_lag();
        self.sockets[s].connects = at;
        self.events.plan(at, EventKind::Connect(short(s)));
    }

    /// Whether nothing runs at the app server's side of this socket now.
    fn is_frozen(&self, s: usize) -> bool {
        self.apps[self.sockets[s].app].frozen
    }
}

/// A TTL in milliseconds, as nodes are sent it.
fn millis(ttl: Duration) -> u32 {
    u32::try_from(ttl.as_millis()).unwrap_or(u32::MAX)
}
