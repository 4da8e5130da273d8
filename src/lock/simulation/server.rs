//! The node's side of a socket, and how it breaks.

use super::event::EventKind;
use super::report::Check;
use super::socket::{Phase, Reply, Request, Socket, Stray};
use super::units::short;
use super::world::World;
use crate::protocol::Command;

impl World {
    pub(super) fn on_requests(&mut self, s: usize) {
        let socket = &mut self.sockets[s];
        if socket.requests.fires(self.now) && !self.nodes[socket.node].paused {
            self.run_requests(s);
        }
    }

    /// Runs all commands that have arrived.
    pub(super) fn run_requests(&mut self, s: usize) {
        let node = self.sockets[s].node;
        while let Some(request) = self.sockets[s].requests.take(self.now) {
            let socket = &mut self.sockets[s];
            let reply = match request {
                Request::Greet => {
                    let up = self.nodes[node].up;
                    (socket.open, socket.ending) = (up, !up);
                    Some(if up { Reply::Welcome } else { Reply::Refused })
                }
                // This was written before the app server knew that the connection had broken.
                _ if !socket.open => None,
                request => self.run_request(node, request),
            };
            if let Some(reply) = reply {
                self.reply(s, reply);
            }
        }
        if let Some(at) = self.sockets[s].requests.plan(self.now) {
            self.events.plan(at, EventKind::Requests(short(s)));
        }
    }

    pub(super) fn reply(&mut self, s: usize, reply: Reply) {
        let at = self.now + self.draw_answer_delay() + self.sockets[s].late[1];
        if let Some(at) = self.sockets[s].replies.send(at, reply) {
            self.events.plan(at, EventKind::Replies(short(s)));
        }
    }

    fn run_request(&mut self, n: usize, request: Request) -> Option<Reply> {
        let node = &mut self.nodes[n];
        let now = node.clock.millis(self.now);
        match request {
            Request::Lock {
                command,
                key,
                ttl,
                token,
                announce,
            } => {
                let (place, ttl) = (key as usize, ttl.into());
                let done = match command {
                    Command::Set => node.store.set(place, token, ttl, now),
                    Command::Extend => {
                        let had = node.store.token(place, now) == Some(token);
                        let extended = node.store.extend(place, token, ttl, now);
                        if !had && (extended || node.store.token(place, now) == Some(token)) {
                            self.violate(Check::Creation, Some(place), None, || {
                                format!("node {n}, which did not have token {token}, has it after an extension")
                            });
                        }
                        extended
                    }
                    Command::Delete => node.store.delete(place, token, now),
                };
                let told = match done && announce {
                    true => self.publish(n, key, || Reply::Released(key, token)),
                    false => 0,
                };
                Some(Reply::Done(u32::from(done) + told))
            }
            Request::Remaining { key } => Some(Reply::Remaining(node.store.remaining(key as usize, now))),
            Request::Publish { key, waited } => {
                self.publish(n, key, || Reply::WaitAnnounced(key, waited.clone()));
                Some(Reply::Published)
            }
            Request::Subscribe { app, key } => {
                node.subscribe(app as usize, key as usize, true);
                Some(Reply::Subscribed(key))
            }
            Request::Unsubscribe { app, key } => {
                node.subscribe(app as usize, key as usize, false);
                None
            }
            // The caller answers this one.
            Request::Greet => None,
        }
    }

    // Breaking.

    /// The connection breaks. Messages under way are lost, but the first ones from the node may arrive; and if the node goes on it
    /// may still run some of the commands. The app server learns of it after a delay.
    pub(super) fn break_socket(&mut self, s: usize, node_is_gone: bool) {
        let is_feed = self.is_feed(s);
        let socket = &mut self.sockets[s];
        if is_feed {
            self.nodes[socket.node].unsubscribe_all(socket.app);
        }
        if socket.phase == Phase::Down || socket.ending {
            return;
        }
        (socket.open, socket.ending) = (false, true);
        let kept = self.random.index(socket.replies.len() + 1);
        socket.replies.truncate(kept);
        self.lose_requests(s, node_is_gone || is_feed);
        self.reply(s, Reply::Broken);
    }

    /// Takes the commands under way off the socket. Unless the node is gone, it still runs the first few of them, in order.
    pub(super) fn lose_requests(&mut self, s: usize, node_is_gone: bool) {
        let Socket { node, requests, .. } = &mut self.sockets[s];
        let kept = match node_is_gone {
            true => 0,
            false => self.random.index(requests.len() + 1),
        };
        for (at, request) in requests.drain().take(kept) {
            let (node, at) = (*node, at.max(self.now));
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
