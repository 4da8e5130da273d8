//! How an app server starts, freezes, thaws and dies.

use std::ops::Range;
use std::time::Duration;

use super::app_server::AppServer;
use super::connection::Connection;
use super::socket::Socket;
use super::worker::WorkerStage;
use super::world::World;

impl World {
    /// Nothing in it runs from now on. Messages for it wait.
    pub(super) fn freeze(&mut self, app: usize) {
        (self.apps[app].frozen, self.apps[app].froze) = (true, self.now);
    }

    /// It goes on. As in the lock engine, answers are read before timers fire, so that no node is blamed for the freeze; and
    /// losses are signalled before any caller does anything else.
    pub(super) fn thaw(&mut self, app: usize) {
        if !std::mem::take(&mut self.apps[app].frozen) {
            return;
        }
        self.apps[app].thawed = Some(self.now);
        self.put_off_work(app);
        let connections = self.connections_of(app);
        for s in connections.clone().chain(self.feeds_of(app)) {
            self.read(s);
        }
        let now = self.time(app);
        for worker in self.workers_of(app) {
            self.look_at_loss(worker, now);
        }
        self.check_signals_after_freeze(app);
        for worker in self.workers_of(app) {
            self.look(worker);
        }
        for c in connections {
            self.on_connect(c);
            self.on_alarm(c);
            self.on_connect(self.feed(c));
        }
        self.on_sweep(app);
        self.on_watch(app);
    }

    /// Holders have as much work left as when the app server froze, if pauses stop their work.
    fn put_off_work(&mut self, app: usize) {
        if self.settings.freezes.as_ref().is_some_and(|freezes| freezes.stops_work) {
            let frozen = Duration::from_nanos(self.now - self.apps[app].froze);
            for w in self.workers_of(app) {
                let worker = &mut self.workers[w];
                if worker.stage == WorkerStage::Holding {
                    worker.until += frozen;
                }
            }
        }
    }

    /// It dies: nothing is sent any more, and its keys stay on the nodes until they expire.
    pub(super) fn kill(&mut self, app: usize) {
        self.claims.remove_all_of(app);
        self.orphan_beliefs(app);
        for c in self.connections_of(app) {
            self.lose_requests(c, false);
            self.connections[c] = Connection::new(self.settings.window);
            let Socket { node, late, .. } = self.sockets[c];
            self.nodes[node].unsubscribe_all(app);
            for s in self.sockets_between(app, node) {
                self.sockets[s] = Socket {
                    late,
                    ..Socket::new(app, node)
                };
            }
        }
        for worker in self.workers_of(app) {
            self.reset_worker(worker);
        }
        let (clock, id) = (self.draw_clock(), self.random.next());
        self.apps[app] = AppServer::new(clock, id);
        self.apps[app].dead = true;
    }

    /// Another app server starts in the place of one that died.
    pub(super) fn revive(&mut self, app: usize) {
        if std::mem::take(&mut self.apps[app].dead) {
            self.begin(app);
        }
    }

    /// Connects to the nodes, and lets the workers begin.
    pub(super) fn begin(&mut self, app: usize) {
        for c in self.connections_of(app) {
            self.connect(c);
        }
        for worker in self.workers_of(app) {
            self.rest(worker);
        }
    }

    pub(super) fn connections_of(&self, app: usize) -> Range<usize> {
        app * self.settings.nodes..(app + 1) * self.settings.nodes
    }

    pub(super) fn feeds_of(&self, app: usize) -> Range<usize> {
        let Range { start, end } = self.connections_of(app);
        self.feed(start)..self.feed(end)
    }

    pub(super) fn workers_of(&self, app: usize) -> Range<usize> {
        app * self.settings.workers..(app + 1) * self.settings.workers
    }
}
