//! The node's side of a connection, and how it breaks.

use super::connection::{Phase, Reply, Request, Stray};
use super::event::EventKind;
use super::report::Check;
use super::units::short;
use super::world::World;

impl World {
    pub(super) fn on_requests(&mut self, c: usize) {
        let connection = &mut self.connections[c];
        if connection.requests.fires(self.now) && !self.nodes[connection.node].paused {
            self.run_requests(c);
        }
    }

    /// Runs all commands that have arrived.
    pub(super) fn run_requests(&mut self, c: usize) {
        let node = self.connections[c].node;
        while let Some(request) = self.connections[c].requests.take(self.now) {
            let connection = &mut self.connections[c];
            let reply = if matches!(request, Request::Greet) {
                let up = self.nodes[node].up;
                (connection.open, connection.ending) = (up, !up);
                if up { Reply::Welcome } else { Reply::Refused }
            } else if connection.open {
                self.run_request(node, request)
            } else {
                // This was written before the app server knew that the connection had broken.
                continue;
            };
            self.reply(c, reply);
        }
        if let Some(at) = self.connections[c].requests.plan(self.now) {
            self.events.plan(at, EventKind::Requests(short(c)));
        }
    }

    fn reply(&mut self, c: usize, reply: Reply) {
        let at = self.now + self.draw_answer_delay() + self.connections[c].late[1];
        if let Some(at) = self.connections[c].replies.send(at, reply) {
            self.events.plan(at, EventKind::Replies(short(c)));
        }
    }

    fn run_request(&mut self, n: usize, request: Request) -> Reply {
        let node = &mut self.nodes[n];
        let now = node.clock.millis(self.now);
        match request {
            Request::Set { key, ttl, token } => Reply::Done(node.store.set(key as usize, token, ttl.into(), now)),
            Request::Extend { key, ttl, token } => {
                let key = key as usize;
                let had = node.store.token(key, now) == Some(token);
                let extended = node.store.extend(key, token, ttl.into(), now);
                if !had && (extended || node.store.token(key, now) == Some(token)) {
                    self.violate(Check::Creation, Some(key), None, || {
                        format!("node {n}, which did not have token {token}, has it after an extension")
                    });
                }
                Reply::Done(extended)
            }
            Request::Delete { key, announce, token } => {
                if !node.store.delete(key as usize, token, now) {
                    Reply::Deleted(None)
                } else if announce {
                    Reply::Deleted(Some(self.publish_release(n, key as usize, token)))
                } else {
                    Reply::Deleted(Some(0))
                }
            }
            Request::Remaining { key } => Reply::Remaining(node.store.remaining(key as usize, now)),
            Request::Publish { key, waited } => {
                self.publish_waited(n, key as usize, *waited);
                Reply::Published
            }
            // The caller answers this one.
            Request::Greet => Reply::Welcome,
        }
    }

    // Breaking.

    /// The connection breaks. Messages under way are lost, but if the node goes on it may still run some of the commands.
    /// The app server learns of it after a delay.
    pub(super) fn break_connection(&mut self, c: usize, node_is_gone: bool) {
        let connection = &mut self.connections[c];
        if connection.phase == Phase::Down || connection.ending {
            return;
        }
        connection.open = false;
        connection.ending = true;
        let kept = self.random.index(connection.replies.len() + 1);
        self.connections[c].replies.truncate(kept);
        self.lose_requests(c, node_is_gone);
        self.reply(c, Reply::Broken);
    }

    /// Takes the commands under way off the connection. Unless the node is gone, it still runs the first few of them, in
    /// order.
    pub(super) fn lose_requests(&mut self, c: usize, node_is_gone: bool) {
        let connection = &mut self.connections[c];
        let node = connection.node;
        let kept = if node_is_gone {
            0
        } else {
            self.random.index(connection.requests.len() + 1)
        };
        for (at, request) in connection.requests.drain().take(kept) {
            let at = at.max(self.now);
            self.strays.push(Some(Stray { node, request, at }));
            self.events.plan(at, EventKind::Stray(short(self.strays.len() - 1)));
        }
    }

    pub(super) fn on_stray(&mut self, number: usize) {
        let Some(stray) = self.strays[number].take() else {
            return;
        };
        if self.nodes[stray.node].paused {
            // It waits for the node to go on.
            self.strays[number] = Some(stray);
        } else if self.nodes[stray.node].up && !matches!(stray.request, Request::Greet) {
            self.report.faults.strays += 1;
            self.note(|_| format!("node {} runs a stray {:?}", stray.node, stray.request));
            self.run_request(stray.node, stray.request);
        }
    }

    /// The node goes on, and runs the commands that arrived on connections that are gone.
    pub(super) fn run_strays(&mut self, node: usize) {
        for number in 0..self.strays.len() {
            if self.strays[number]
                .as_ref()
                .is_some_and(|stray| stray.node == node && stray.at <= self.now)
            {
                self.on_stray(number);
            }
        }
    }

    /// The node dies, and the commands that it had not read are lost.
    pub(super) fn lose_strays(&mut self, node: usize) {
        for stray in &mut self.strays {
            if stray.as_ref().is_some_and(|stray| stray.node == node) {
                *stray = None;
            }
        }
    }
}
