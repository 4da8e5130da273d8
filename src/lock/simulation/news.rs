//! What nodes tell app servers that wait, on connections of their own.

use super::{
    World,
    clock::NEVER,
    connection::Phase,
    event::What,
    feed::{Feed, News, Wish},
    units::{nanos, short},
};
use crate::protocol::Waited;

impl World {
    // The app server's side.

    /// Somebody begins to wait for a key: the nodes are to tell of it.
    pub(super) fn subscribe(&mut self, app: usize, key: usize) {
        for f in self.connections_of(app) {
            if !std::mem::replace(&mut self.feeds[f].wanted, true) {
                self.connect_feed(f);
            } else if self.feeds[f].phase == Phase::Up {
                self.wish(f, Wish::Subscribe(short(key)));
            }
        }
    }

    pub(super) fn unsubscribe(&mut self, app: usize, key: usize) {
        for f in self.connections_of(app) {
            if self.feeds[f].phase == Phase::Up {
                self.wish(f, Wish::Unsubscribe(short(key)));
            }
        }
    }

    fn wish(&mut self, f: usize, wish: Wish) {
        let at = self.now + self.draw_delay();
        if let Some(at) = self.feeds[f].wishes.send(at, wish) {
            self.events.plan(at, What::Wishes(short(f)));
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
        self.wish(f, Wish::Greet);
    }

    pub(super) fn on_news(&mut self, f: usize) {
        if self.feeds[f].news.fires(self.now) && !self.apps[self.connections[f].app].frozen {
            self.read_news(f);
        }
    }

    /// Takes all news that are there.
    pub(super) fn read_news(&mut self, f: usize) {
        let app = self.connections[f].app;
        while let Some(news) = self.feeds[f].news.take(self.now) {
            self.hear(f, app, news);
        }
        if let Some(at) = self.feeds[f].news.plan(self.now) {
            self.events.plan(at, What::News(short(f)));
        }
    }

    fn hear(&mut self, f: usize, app: usize, news: News) {
        let now = self.time(app);
        let node = self.connections[f].node;
        match news {
            News::Welcome => {
                self.feeds[f].phase = Phase::Up;
                for key in 0..self.settings.keys {
                    if self.apps[app].channels[key].is_some() {
                        self.wish(f, Wish::Subscribe(short(key)));
                    }
                }
            }
            News::Refused | News::Broken => self.feed_is_gone(f, app, node),
            News::Subscribed(key) => {
                if let Some(channel) = &mut self.apps[app].channels[key as usize]
                    && channel.announcements.on_subscribed(node, true, now)
                {
                    self.tell_first_in_line(app, key as usize);
                }
            }
            News::Released(key, token) => {
                if let Some(channel) = &mut self.apps[app].channels[key as usize]
                    && channel.announcements.on_released(node, token, now)
                {
                    self.report.heard += 1;
                    self.tell_first_in_line(app, key as usize);
                }
            }
            News::Waited(key, waited) => {
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
        feed.wishes.clear();
        self.events.plan(at, What::ConnectFeed(short(f)));
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

    pub(super) fn on_wishes(&mut self, f: usize) {
        if self.feeds[f].wishes.fires(self.now) && !self.nodes[self.connections[f].node].paused {
            self.run_wishes(f);
        }
    }

    pub(super) fn run_wishes(&mut self, f: usize) {
        let (app, node) = (self.connections[f].app, self.connections[f].node);
        while let Some(wish) = self.feeds[f].wishes.take(self.now) {
            match wish {
                Wish::Greet => {
                    let up = self.nodes[node].up;
                    (self.feeds[f].open, self.feeds[f].ending) = (up, !up);
                    self.send_news(f, if up { News::Welcome } else { News::Refused });
                }
                // Written before the app server knew that the connection is broken.
                _ if !self.feeds[f].open => {}
                Wish::Subscribe(key) => {
                    self.nodes[node].subscribe(app, key as usize, true);
                    self.send_news(f, News::Subscribed(key));
                }
                Wish::Unsubscribe(key) => self.nodes[node].subscribe(app, key as usize, false),
            }
        }
        if let Some(at) = self.feeds[f].wishes.plan(self.now) {
            self.events.plan(at, What::Wishes(short(f)));
        }
    }

    fn send_news(&mut self, f: usize, news: News) {
        let at = self.now + self.draw_delay();
        if let Some(at) = self.feeds[f].news.send(at, news) {
            self.events.plan(at, What::News(short(f)));
        }
    }

    /// Tells all who want to hear of the key, and counts them.
    fn publish(&mut self, node: usize, key: usize, news: impl Fn(u32) -> News) -> u32 {
        let mut told = 0;
        for app in 0..self.apps.len() {
            if self.nodes[node].tells(app, key) {
                told += 1;
                let f = self.connection(app, node);
                self.send_news(f, news(short(key)));
            }
        }
        told
    }

    pub(super) fn publish_release(&mut self, node: usize, key: usize, token: u64) -> u32 {
        self.publish(node, key, |key| News::Released(key, token))
    }

    pub(super) fn publish_waited(&mut self, node: usize, key: usize, waited: Waited) -> u32 {
        self.publish(node, key, |key| News::Waited(key, Box::new(waited)))
    }

    /// The connection breaks. What is under way is lost, but for the first of the news, perhaps.
    pub(super) fn break_feed(&mut self, f: usize) {
        let (app, node) = (self.connections[f].app, self.connections[f].node);
        self.nodes[node].unsubscribe_all(app);
        let feed = &mut self.feeds[f];
        if feed.phase == Phase::Down || feed.ending {
            return;
        }
        (feed.open, feed.ending) = (false, true);
        feed.wishes.clear();
        let kept = self.random.index(self.feeds[f].news.len() + 1);
        self.feeds[f].news.truncate(kept);
        self.send_news(f, News::Broken);
    }
}
