//! How an app server starts, freezes, thaws and dies.

use std::ops::Range;

use super::World;
use super::app_server::AppServer;
use super::connection::Connection;

impl World {
    /// Nothing in it runs from now on. Messages for it wait.
    pub(super) fn freeze(&mut self, app: usize) {
        self.apps[app].frozen = true;
    }

    /// It goes on. As in the lock engine, answers are read before timers fire, so that no node is blamed for the freeze; and
    /// losses are signalled before any caller does anything else.
    pub(super) fn thaw(&mut self, app: usize) {
        if !std::mem::take(&mut self.apps[app].frozen) {
            return;
        }
        self.apps[app].thawed = Some(self.now);
        let connections = self.connections_of(app);
        for c in connections.clone() {
            self.read(c);
        }
        for c in connections.clone() {
            self.read_feed(c);
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
            self.connect_if_due(c);
            self.alarm_if_due(c);
            self.connect_feed_if_due(c);
        }
        self.sweep_if_due(app);
    }

    /// It dies: nothing is sent any more, and its keys stay on the nodes until they expire.
    pub(super) fn kill(&mut self, app: usize) {
        self.claims.remove_all_of(app);
        self.orphan_beliefs(app);
        for c in self.connections_of(app) {
            self.lose_requests(c, false);
            let node = self.connections[c].node;
            self.connections[c] = Connection::new(app, node);
            self.reset_feed(c);
        }
        for worker in self.workers_of(app) {
            self.reset_worker(worker);
        }
        let (clock, id) = (self.draw_clock(), self.random.next());
        self.apps[app] = AppServer::new(clock, id, self.settings.keys);
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

    pub(super) fn workers_of(&self, app: usize) -> Range<usize> {
        app * self.settings.workers..(app + 1) * self.settings.workers
    }
}
