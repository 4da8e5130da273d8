//! Publishing and subscribing, on feeds: sockets separate from those for locks.

use super::socket::{Phase, Reply, Request, Socket};
use super::units::short;
use super::world::World;
use crate::protocol::Time;

impl World {
    // The app server's side.

    /// Somebody begins to wait for a key: subscribes to it on all nodes. Feeds are connected only once that is the case.
    pub(super) fn subscribe(&mut self, app: usize, key: usize) {
        for f in self.feeds_of(app) {
            if self.sockets[f].is_unused() {
                self.connect(f);
            } else {
                self.ask_feed(f, |app| Request::Subscribe { app, key: short(key) });
            }
        }
    }

    pub(super) fn unsubscribe(&mut self, app: usize, key: usize) {
        for f in self.feeds_of(app) {
            self.ask_feed(f, |app| Request::Unsubscribe { app, key: short(key) });
        }
    }

    fn ask_feed(&mut self, f: usize, request: impl FnOnce(u32) -> Request) {
        if self.sockets[f].phase == Phase::Up {
            let takes = self.draw_delay();
            self.request(f, request(short(self.sockets[f].app)), takes);
        }
    }

    /// A feed is connected: subscribes to all keys in use.
    pub(super) fn subscribe_again(&mut self, f: usize) {
        let channels = &self.apps[self.sockets[f].app].channels;
        for key in channels.keys().copied().collect::<Vec<_>>() {
            self.ask_feed(f, |app| Request::Subscribe { app, key: short(key) });
        }
    }

    /// Takes a message that a feed delivered.
    pub(super) fn hear(&mut self, f: usize, message: Reply, now: Time) {
        let Socket { app, node, .. } = self.sockets[f];
        let (Reply::Subscribed(key) | Reply::Released(key, _) | Reply::WaitAnnounced(key, _)) = message else {
            return;
        };
        let key = key as usize;
        let Some(channel) = self.apps[app].channels.get_mut(&key) else {
            return;
        };
        let changed = match message {
            Reply::Released(_, token) => {
                let heard = channel.announcements.on_released(node, token, now);
                self.report.heard += u64::from(heard);
                heard
            }
            Reply::WaitAnnounced(_, waited) => {
                channel.announcements.on_waited(*waited, now);
                false
            }
            _ => channel.announcements.on_subscribed(node, true, now),
        };
        if changed {
            self.wake_first_in_line(app, key);
        }
    }

    /// A feed is gone.
    pub(super) fn on_unsubscribed(&mut self, f: usize, now: Time) {
        let Socket { app, node, .. } = self.sockets[f];
        for channel in self.apps[app].channels.values_mut() {
            channel.announcements.on_subscribed(node, false, now);
        }
    }

    // The node's side.

    /// Sends a message to all subscribers of the key, and returns their number.
    pub(super) fn publish(&mut self, node: usize, key: u32, message: impl Fn() -> Reply) -> u32 {
        let told = self.nodes[node].subscribers(key as usize).len();
        for place in 0..told {
            let app = self.nodes[node].subscribers(key as usize)[place] as usize;
            let f = self.feed(self.connection(app, node));
            self.reply(f, message());
        }
        short(told)
    }
}
