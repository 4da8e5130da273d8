//! Watches for what nobody ordered: a process of the lab that somebody else ended, stopped or let go on.

use std::time::Instant;

use super::auditor::LiveAudit;
use super::engine::Engine;
use crate::lab::{DownWhy, HostState, Lab};
use crate::model::HostId;
use crate::scenario::{StockIn, WorkloadSpec};

/// The states of the lab's processes as they were last seen, and on which hosts an order is under way.
#[derive(Debug)]
pub(super) struct LabWatch {
    hosts: Vec<Seen>,
    cache: HostState,
    keeper_gone: bool,
    keeper_stopped: bool,
}

#[derive(Debug)]
struct Seen {
    state: HostState,
    /// Orders under way: what changes meanwhile is their doing.
    orders: usize,
}

/// A change that nobody ordered.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Host(HostId, HostState, HostState),
    Cache(HostState, HostState),
    /// With its last words; everything else is gone with it.
    Keeper(String),
    /// Whether it is stopped now.
    KeeperStopped(bool),
}

impl LabWatch {
    /// Begins with things as they are.
    pub fn new(lab: &Lab, hosts: usize) -> Self {
        let seen = |index| Seen {
            state: lab.state(HostId::from_index(index)),
            orders: 0,
        };
        Self {
            hosts: (0..hosts).map(seen).collect(),
            cache: lab.cache_state(),
            keeper_gone: false,
            keeper_stopped: false,
        }
    }

    fn order(&mut self, host: HostId, under_way: bool) {
        if let Some(seen) = self.hosts.get_mut(host.index()) {
            seen.orders = if under_way {
                seen.orders + 1
            } else {
                seen.orders.saturating_sub(1)
            };
        }
    }

    /// What changed since the last look without an order.
    fn look(&mut self, lab: &Lab) -> Vec<Change> {
        if self.keeper_gone {
            return Vec::new();
        }
        // Before the states: while the keeper is there they are its word.
        if let Some(words) = lab.keeper_gone() {
            self.keeper_gone = true;
            return vec![Change::Keeper(words)];
        }
        let mut changes = Vec::new();
        let stopped = lab.keeper_stopped();
        if std::mem::replace(&mut self.keeper_stopped, stopped) != stopped {
            changes.push(Change::KeeperStopped(stopped));
        }
        for (index, seen) in self.hosts.iter_mut().enumerate() {
            let id = HostId::from_index(index);
            if let Some((before, after)) = changed(&mut seen.state, lab.state(id))
                && seen.orders == 0
            {
                changes.push(Change::Host(id, before, after));
            }
        }
        if let Some((before, after)) = changed(&mut self.cache, lab.cache_state()) {
            changes.push(Change::Cache(before, after));
        }
        // The keeper may have gone in between, which looks like the death of all.
        if let Some(words) = lab.keeper_gone() {
            self.keeper_gone = true;
            return vec![Change::Keeper(words)];
        }
        changes
    }
}

/// The states before and after, if the process has come into another one since.
fn changed(seen: &mut HostState, now: HostState) -> Option<(HostState, HostState)> {
    let since: Instant = seen.since();
    (now.since() != since).then(|| (std::mem::replace(seen, now.clone()), now))
}

/// What became of a process by somebody else's doing.
fn fate(before: &HostState, after: &HostState) -> String {
    match (before, after) {
        (_, HostState::Down { why, .. }) => match why {
            DownWhy::Killed => "died: killed by a signal from outside".to_owned(),
            DownWhy::ShutDown => "ended: shut down from outside".to_owned(),
            DownWhy::Died(how) => format!("died: {how}"),
        },
        (HostState::Paused { .. }, HostState::Paused { .. }) => {
            "went on for a moment and is stopped again, by signals from outside".to_owned()
        }
        (_, HostState::Paused { .. }) => "is stopped by a signal from outside".to_owned(),
        (HostState::Up { .. }, HostState::Up { .. }) => "was stopped for a moment by signals from outside".to_owned(),
        (_, HostState::Up { .. }) => "goes on by a signal from outside".to_owned(),
    }
}

impl Engine {
    /// Tells what changed in the lab without an order. A lock host that dies so is a fault like any other; without the
    /// cache node or the keeper the run proves nothing.
    pub(super) fn watch(&mut self) {
        for change in self.watch.look(&self.lab) {
            match change {
                Change::Host(id, before, after) => {
                    let text = format!("{id} {}{}", fate(&before, &after), self.consequence(id));
                    self.warn(text);
                }
                Change::Cache(before, after) => {
                    let text = format!("the cache node {}", fate(&before, &after));
                    if matches!(after, HostState::Up { .. }) && matches!(before, HostState::Paused { .. }) {
                        self.warn(text);
                    } else {
                        self.lose(text);
                    }
                }
                Change::KeeperStopped(true) => self.lose(
                    "the keeper process is stopped by a signal from outside: what happens to hosts is not seen"
                        .to_owned(),
                ),
                Change::KeeperStopped(false) => self.warn("the keeper process goes on".to_owned()),
                Change::Keeper(words) => {
                    self.lose(format!(
                        "the keeper process is gone ({words}), and all hosts and the cache node with it: the load ends"
                    ));
                }
            }
        }
        let in_cache =
            matches!(&self.scenario.workload, WorkloadSpec::Inventory(spec) if spec.stock_in == StockIn::Redis);
        let ledger = if in_cache { "the cache node" } else { "its database" };
        for index in 0..self.arms.len() {
            if let Some(text) = self.arms[index].unreadable() {
                self.doubt(index, text);
            }
            let arm = &mut self.arms[index];
            // Once its books are closed nobody asks any more.
            let Some(silent) = arm.audit.as_ref().map(LiveAudit::silent) else {
                continue;
            };
            if std::mem::replace(&mut arm.silent, silent.is_some()) != silent.is_some() {
                let text = match silent {
                    Some(time) => format!("{}: {ledger} has not answered for {} s", arm.spec.name, time.as_secs()),
                    None => format!("{}: {ledger} answers again", arm.spec.name),
                };
                self.warn(text);
            }
        }
    }

    /// Something is gone without which the run proves nothing: said once.
    pub(super) fn lose(&mut self, what: String) {
        if !self.lost.contains(&what) {
            self.lost.push(what.clone());
            self.warn(what);
        }
    }

    /// Whether nothing is left that the load could run on.
    pub(super) fn cannot_go_on(&self) -> bool {
        self.watch.keeper_gone
    }

    /// An order changes the state of a host from now on; what changed before was somebody else.
    pub(super) fn order_begins(&mut self, host: HostId) {
        self.watch();
        self.watch.order(host, true);
    }

    /// The order is carried out, or has failed: what it changed was its doing.
    pub(super) fn order_ends(&mut self, host: HostId) {
        self.watch();
        self.watch.order(host, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fate_is_said_by_how_it_came() {
        let since = Instant::now();
        let up = HostState::Up { since };
        let paused = HostState::Paused { since };
        let down = |why| HostState::Down { why, since };
        assert_eq!(
            fate(&up, &down(DownWhy::Killed)),
            "died: killed by a signal from outside"
        );
        assert_eq!(fate(&up, &down(DownWhy::Died("SIGSEGV".to_owned()))), "died: SIGSEGV");
        assert_eq!(fate(&up, &down(DownWhy::ShutDown)), "ended: shut down from outside");
        assert_eq!(fate(&up, &paused), "is stopped by a signal from outside");
        assert_eq!(
            fate(&paused, &paused),
            "went on for a moment and is stopped again, by signals from outside"
        );
        assert_eq!(fate(&paused, &up), "goes on by a signal from outside");
    }

    #[test]
    fn a_change_is_seen_once() {
        let since = Instant::now();
        let mut seen = HostState::Up { since };
        assert_eq!(changed(&mut seen, HostState::Up { since }), None);
        let later = HostState::Paused {
            since: since + std::time::Duration::from_millis(1),
        };
        assert!(changed(&mut seen, later.clone()).is_some());
        assert_eq!(changed(&mut seen, later), None);
    }
}
