//! Publishing and subscribing, on connections separate from those for locks.

use super::clock::NEVER;
use super::connection::Phase;
use super::event::EventKind;
use super::feed::{Feed, FeedMessage, FeedRequest};
use super::units::{nanos, short};
use super::world::World;
use crate::protocol::WaitAnnouncement;

impl World {
    // The app server's side.

    /// Somebody begins to wait for a key: subscribes to it on all nodes.
    pub(super) fn subscribe(&mut self, app: usize, key: usize) {
        for f in self.connections_of(app) {
            if !std::mem::replace(&mut self.feeds[f].wanted, true) {
                self.connect_feed(f);
            } else if self.feeds[f].phase == Phase::Up {
                self.feed_request(f, FeedRequest::Subscribe(short(key)));
            }
        }
    }

    pub(super) fn unsubscribe(&mut self, app: usize, key: usize) {
        for f in self.connections_of(app) {
            if self.feeds[f].phase == Phase::Up {
                self.feed_request(f, FeedRequest::Unsubscribe(short(key)));
            }
        }
    }

    fn feed_request(&mut self, f: usize, feed_request: FeedRequest) {
        let at = self.now + self.draw_delay() + self.connections[f].late[0];
        if let Some(at) = self.feeds[f].requests.send(at, feed_request) {
            self.events.plan(at, EventKind::FeedRequests(short(f)));
        }
    }

    pub(super) fn on_connect_feed(&mut self, f: usize) {
        if self.feeds[f].connects == self.now && !self.apps[self.connections[f].app].frozen {
            self.connect_feed(f);
        }
    }

    pub(super) fn connect_feed_if_due(&mut self, f: usize) {
        if self.feeds[f].connects <= self.now {
            self.connect_feed(f);
        }
    }

    fn connect_feed(&mut self, f: usize) {
        self.feeds[f].connects = NEVER;
        self.feeds[f].phase = Phase::Connecting;
        self.feed_request(f, FeedRequest::Greet);
    }

    pub(super) fn on_feed_messages(&mut self, f: usize) {
        if self.feeds[f].messages.fires(self.now) && !self.apps[self.connections[f].app].frozen {
            self.read_feed(f);
        }
    }

    /// Takes all messages that have arrived.
    pub(super) fn read_feed(&mut self, f: usize) {
        let app = self.connections[f].app;
        while let Some(message) = self.feeds[f].messages.take(self.now) {
            self.on_feed_message(f, app, message);
        }
        if let Some(at) = self.feeds[f].messages.plan(self.now) {
            self.events.plan(at, EventKind::FeedMessages(short(f)));
        }
    }

    fn on_feed_message(&mut self, f: usize, app: usize, message: FeedMessage) {
        let now = self.time(app);
        let node = self.connections[f].node;
        match message {
            FeedMessage::Welcome => {
                self.feeds[f].phase = Phase::Up;
                for key in 0..self.settings.keys {
                    if self.apps[app].channels[key].is_some() {
                        self.feed_request(f, FeedRequest::Subscribe(short(key)));
                    }
                }
            }
            FeedMessage::Refused | FeedMessage::Broken => self.feed_is_gone(f, app, node),
            FeedMessage::Subscribed(key) => {
                if let Some(channel) = &mut self.apps[app].channels[key as usize]
                    && channel.announcements.on_subscribed(node, true, now)
                {
                    self.wake_first_in_line(app, key as usize);
                }
            }
            FeedMessage::Released(key, token) => {
                if let Some(channel) = &mut self.apps[app].channels[key as usize]
                    && channel.announcements.on_released(node, token, now)
                {
                    self.report.heard += 1;
                    self.wake_first_in_line(app, key as usize);
                }
            }
            FeedMessage::WaitAnnounced(key, waited) => {
                if let Some(channel) = &mut self.apps[app].channels[key as usize] {
                    channel.announcements.on_waited(*waited, now);
                }
            }
        }
    }

    fn feed_is_gone(&mut self, f: usize, app: usize, node: usize) {
        let now = self.time(app);
        let at = self.now + nanos(self.settings.reconnect) + self.draw_lag();
        let feed = &mut self.feeds[f];
        (feed.phase, feed.open, feed.ending, feed.connects) = (Phase::Down, false, false, at);
        feed.requests.clear();
        self.events.plan(at, EventKind::ConnectFeed(short(f)));
        for channel in self.apps[app].channels.iter_mut().flatten() {
            channel.announcements.on_subscribed(node, false, now);
        }
    }

    /// Its app server died.
    pub(super) fn reset_feed(&mut self, f: usize) {
        let (app, node) = (self.connections[f].app, self.connections[f].node);
        self.nodes[node].unsubscribe_all(app);
        self.feeds[f] = Feed::new();
    }

    // The node's side.

    pub(super) fn on_feed_requests(&mut self, f: usize) {
        if self.feeds[f].requests.fires(self.now) && !self.nodes[self.connections[f].node].paused {
            self.run_feed_requests(f);
        }
    }

    pub(super) fn run_feed_requests(&mut self, f: usize) {
        let (app, node) = (self.connections[f].app, self.connections[f].node);
        while let Some(feed_request) = self.feeds[f].requests.take(self.now) {
            match feed_request {
                FeedRequest::Greet => {
                    let up = self.nodes[node].up;
                    (self.feeds[f].open, self.feeds[f].ending) = (up, !up);
                    self.send_feed_message(f, if up { FeedMessage::Welcome } else { FeedMessage::Refused });
                }
                // This was written before the app server knew that the connection had broken.
                _ if !self.feeds[f].open => {}
                FeedRequest::Subscribe(key) => {
                    self.nodes[node].subscribe(app, key as usize, true);
                    self.send_feed_message(f, FeedMessage::Subscribed(key));
                }
                FeedRequest::Unsubscribe(key) => self.nodes[node].subscribe(app, key as usize, false),
            }
        }
        if let Some(at) = self.feeds[f].requests.plan(self.now) {
            self.events.plan(at, EventKind::FeedRequests(short(f)));
        }
    }

    fn send_feed_message(&mut self, f: usize, message: FeedMessage) {
        let at = self.now + self.draw_answer_delay() + self.connections[f].late[1];
        if let Some(at) = self.feeds[f].messages.send(at, message) {
            self.events.plan(at, EventKind::FeedMessages(short(f)));
        }
    }

    /// Sends a message to all subscribers of the key, and returns their number.
    fn publish(&mut self, node: usize, key: usize, message: impl Fn(u32) -> FeedMessage) -> u32 {
        let told = self.nodes[node].subscribers(key).len();
        for place in 0..told {
            let app = self.nodes[node].subscribers(key)[place] as usize;
            let f = self.connection(app, node);
            self.send_feed_message(f, message(short(key)));
        }
        short(told)
    }

    pub(super) fn publish_release(&mut self, node: usize, key: usize, token: u64) -> u32 {
        self.publish(node, key, |key| FeedMessage::Released(key, token))
    }

    pub(super) fn publish_waited(&mut self, node: usize, key: usize, waited: WaitAnnouncement) -> u32 {
        self.publish(node, key, |key| FeedMessage::WaitAnnounced(key, Box::new(waited)))
    }

    /// The connection breaks. Messages under way are lost, except perhaps for the first ones from the node.
    pub(super) fn break_feed(&mut self, f: usize) {
        let (app, node) = (self.connections[f].app, self.connections[f].node);
        self.nodes[node].unsubscribe_all(app);
        let feed = &mut self.feeds[f];
        if feed.phase == Phase::Down || feed.ending {
            return;
        }
        (feed.open, feed.ending) = (false, true);
        feed.requests.clear();
        let kept = self.random.index(self.feeds[f].messages.len() + 1);
        self.feeds[f].messages.truncate(kept);
        self.send_feed_message(f, FeedMessage::Broken);
    }
}
