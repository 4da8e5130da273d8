//! Faults: how they begin and end.

use super::event::{EventKind, Mend};
use super::settings::Faults;
use super::units::short;
use super::world::World;

impl World {
    /// Plans the next of these faults, counted from 0 in the settings.
    pub(super) fn plan_fault(&mut self, which: usize) {
        let at = self.now + self.settings.faults[which].every.draw(&mut self.random);
        self.events.plan(at, EventKind::Fault(short(which)));
    }

    /// Plans the next pause that the app server makes by itself, if any, after this time.
    pub(super) fn plan_freeze(&mut self, app: usize, after: u64) {
        if let Some(freezes) = &self.settings.freezes {
            let at = after + freezes.every.draw(&mut self.random);
            self.events.plan(at, EventKind::Freeze(short(app)));
        }
    }

    pub(super) fn on_freeze(&mut self, app: usize) {
        if let Some(freezes) = self.settings.freezes.as_ref().filter(|_| !self.calm) {
            let over = self.now + freezes.lasts.draw(&mut self.random);
            self.freeze_until(app, over);
            self.plan_freeze(app, over);
        }
    }

    pub(super) fn on_fault(&mut self, which: usize) {
        // A healed world stays healed.
        if !self.calm {
            self.break_something(which);
            self.plan_fault(which);
        }
    }

    fn break_something(&mut self, which: usize) {
        let Faults { lasts, weights, .. } = &self.settings.faults[which];
        let (weights, lasts) = (*weights, lasts.draw(&mut self.random));
        let over = self.now + lasts;
        let node = self.random.index(self.nodes.len());
        let app = self.random.index(self.apps.len());
        let kinds = [
            weights.pause,
            weights.crash,
            weights.forget,
            weights.cut,
            weights.freeze,
            weights.kill,
            weights.jump,
            weights.jump_back,
        ];
        let sum = kinds.iter().map(|weight| u64::from(*weight)).sum();
        let mut drawn = self.random.below(sum);
        let kind = kinds.iter().position(|&weight| {
            let here = drawn < u64::from(weight);
            drawn = drawn.saturating_sub(u64::from(weight));
            here
        });
        match kind {
            Some(0) if self.pause(node) => self.mend_at(over, Mend::Resume(short(node))),
            Some(1) if self.crash(node, false) => self.mend_at(over, Mend::Restart(short(node))),
            Some(2) if self.crash(node, true) => self.mend_at(over, Mend::Restart(short(node))),
            Some(3) => self.cut_at_random(app, node),
            Some(4) => self.freeze_until(app, over),
            Some(5) if self.end(app) => self.mend_at(over, Mend::Revive(short(app))),
            Some(6) => self.jump(node, lasts),
            Some(7) => self.jump_back(node, lasts),
            // No kind has any weight, or it is broken already.
            _ => {}
        }
    }

    fn mend_at(&mut self, at: u64, mend: Mend) {
        self.events.plan(at, EventKind::Mend(mend));
    }

    // Each of these returns whether it had an effect.

    pub(super) fn pause(&mut self, node: usize) -> bool {
        let runs = self.nodes[node].runs();
        if runs {
            self.report.faults.pauses += 1;
            self.note(|_| format!("node {node} stops"));
            self.nodes[node].paused = true;
        }
        runs
    }

    pub(super) fn crash(&mut self, node: usize, forgets: bool) -> bool {
        if !self.nodes[node].up {
            return false;
        }
        self.note(|_| format!("node {node} dies{}", if forgets { " and forgets" } else { "" }));
        (self.nodes[node].up, self.nodes[node].paused) = (false, false);
        if forgets {
            self.report.faults.forgets += 1;
            self.forget(node);
        } else {
            self.report.faults.crashes += 1;
        }
        for app in 0..self.apps.len() {
            for s in self.sockets_between(app, node) {
                self.break_socket(s, true);
            }
        }
        self.lose_strays(node);
        true
    }

    fn cut_at_random(&mut self, app: usize, node: usize) {
        // Either of the two connections, or both.
        let which = self.random.below(3);
        self.cut(app, node, which != 0, which != 1);
    }

    /// The connection for locks breaks, or the feed, or both.
    pub(super) fn cut(&mut self, app: usize, node: usize, for_locks: bool, feed: bool) {
        self.report.faults.cuts += 1;
        self.note(|_| format!("the connections of app server {app} to node {node} break"));
        for (s, breaks) in self.sockets_between(app, node).into_iter().zip([for_locks, feed]) {
            if breaks {
                self.break_socket(s, false);
            }
        }
    }

    fn freeze_until(&mut self, app: usize, over: u64) {
        if self.stop(app) {
            self.mend_at(over, Mend::Thaw(short(app)));
        }
    }

    /// The app server freezes.
    pub(super) fn stop(&mut self, app: usize) -> bool {
        let runs = !self.apps[app].dead && !self.apps[app].frozen;
        if runs {
            self.report.faults.freezes += 1;
            self.note(|_| format!("app server {app} freezes"));
            self.freeze(app);
        }
        runs
    }

    /// The app server dies.
    pub(super) fn end(&mut self, app: usize) -> bool {
        let lives = !self.apps[app].dead;
        if lives {
            self.report.faults.kills += 1;
            self.note(|_| format!("app server {app} dies"));
            self.kill(app);
        }
        lives
    }

    pub(super) fn mend(&mut self, mend: Mend) {
        self.note(|_| format!("{mend:?}"));
        match mend {
            Mend::Resume(node) => self.resume(node as usize),
            Mend::Restart(node) => self.nodes[node as usize].up = true,
            Mend::Thaw(app) => self.thaw(app as usize),
            Mend::Revive(app) => self.revive(app as usize),
        }
    }

    /// The node goes on, and runs the commands that arrived meanwhile, in order.
    fn resume(&mut self, node: usize) {
        if !std::mem::take(&mut self.nodes[node].paused) {
            return;
        }
        self.run_strays(node);
        for app in 0..self.apps.len() {
            for s in self.sockets_between(app, node) {
                self.run_requests(s);
            }
        }
    }

    /// Ends all faults, and lets no further ones begin.
    pub(super) fn mend_all(&mut self) {
        self.calm = true;
        for node in 0..self.nodes.len() {
            self.nodes[node].up = true;
            self.resume(node);
        }
        for app in 0..self.apps.len() {
            self.thaw(app);
            self.revive(app);
        }
        for socket in &mut self.sockets {
            socket.late = [0; 2];
        }
    }
}
