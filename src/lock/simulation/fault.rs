//! Faults: how they begin and end.

use super::event::{EventKind, Mend};
use super::random::Range;
use super::units::short;
use super::{Faults, World};

impl World {
    /// Plans the next fault, if any.
    pub(super) fn plan_fault(&mut self) {
        if let Some(faults) = &self.settings.faults {
            let at = self.now + self.random.within(Range::from(faults.every));
            self.events.plan(at, EventKind::Fault);
        }
    }

    /// Plans the next pause that the app server makes by itself, if any.
    pub(super) fn plan_freeze(&mut self, app: usize) {
        if let Some(after) = self.draw_freeze(0) {
            self.events.plan(self.now + after, EventKind::Freeze(short(app)));
        }
    }

    pub(super) fn on_freeze(&mut self, app: usize) {
        if let Some(lasts) = self.draw_freeze(1) {
            self.freeze_until(app, self.now + lasts);
            // The next one comes after the end of this one.
            if let Some(after) = self.draw_freeze(0) {
                self.events
                    .plan(self.now + lasts + after, EventKind::Freeze(short(app)));
            }
        }
    }

    pub(super) fn on_fault(&mut self) {
        // A healed world stays healed.
        if let Some(faults) = self.settings.faults.filter(|_| !self.calm) {
            self.break_something(&faults);
            self.plan_fault();
        }
    }

    fn break_something(&mut self, faults: &Faults) {
        let over = self.now + self.random.within(Range::from(faults.lasts));
        let node = self.random.index(self.nodes.len());
        let app = self.random.index(self.apps.len());
        let weights = &faults.weights;
        let kinds = [
            weights.pause,
            weights.crash,
            weights.forget,
            weights.cut,
            weights.freeze,
            weights.kill,
        ];
        let sum = kinds.iter().map(|weight| u64::from(*weight)).sum();
        let mut drawn = self.random.below(sum);
        let kind = kinds.iter().position(|&weight| {
            let here = drawn < u64::from(weight);
            drawn = drawn.saturating_sub(u64::from(weight));
            here
        });
        match kind {
            Some(0) => self.pause(node, over),
            Some(1) => self.crash(node, false, over),
            Some(2) => self.crash(node, true, over),
            Some(3) => self.cut(app, node),
            Some(4) => self.freeze_until(app, over),
            Some(5) => self.kill_until(app, over),
            // No kind has any weight.
            _ => {}
        }
    }

    fn pause(&mut self, node: usize, over: u64) {
        if self.nodes[node].runs() {
            self.report.faults.pauses += 1;
            self.note(|_| format!("node {node} stops"));
            self.nodes[node].paused = true;
            self.events.plan(over, EventKind::Mend(Mend::Resume(short(node))));
        }
    }

    fn crash(&mut self, node: usize, forgets: bool, over: u64) {
        if !self.nodes[node].up {
            return;
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
            let c = self.connection(app, node);
            self.break_connection(c, true);
            self.break_feed(c);
        }
        self.lose_strays(node);
        self.events.plan(over, EventKind::Mend(Mend::Restart(short(node))));
    }

    fn cut(&mut self, app: usize, node: usize) {
        self.report.faults.cuts += 1;
        self.note(|_| format!("the connections of app server {app} to node {node} break"));
        let c = self.connection(app, node);
        // Either of the two connections, or both.
        let which = self.random.below(3);
        if which != 0 {
            self.break_connection(c, false);
        }
        if which != 1 {
            self.break_feed(c);
        }
    }

    fn freeze_until(&mut self, app: usize, over: u64) {
        if !self.apps[app].dead && !self.apps[app].frozen {
            self.report.faults.freezes += 1;
            self.note(|_| format!("app server {app} freezes"));
            self.freeze(app);
            self.events.plan(over, EventKind::Mend(Mend::Thaw(short(app))));
        }
    }

    fn kill_until(&mut self, app: usize, over: u64) {
        if !self.apps[app].dead {
            self.report.faults.kills += 1;
            self.note(|_| format!("app server {app} dies"));
            self.kill(app);
            self.events.plan(over, EventKind::Mend(Mend::Revive(short(app))));
        }
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
            let c = self.connection(app, node);
            self.run_requests(c);
            self.run_feed_requests(c);
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
    }
}
