//! What happens without an order: to the lab, and to the databases. It is told, and what the run can't do without is lost.

use super::auditor::LiveAudit;
use super::engine::Engine;
use super::lab_watch::{Change, fate};
use crate::lab::Role;
use crate::model::{Condition, HostId};
use crate::scenario::StockIn;

impl Engine {
    /// Tells what changed in the lab without an order. A lock node that dies so is a fault like any other; without the
    /// cache node or the keeper the run proves nothing.
    pub(super) fn watch(&mut self) {
        for change in self.lab.watch.look(&self.lab.handle) {
            match change {
                Change::Node(node, before, after) => {
                    let consequence = node.host.map_or_else(String::new, |host| self.consequence(host));
                    let text = format!("{node} {}{consequence}", fate(&before, &after));
                    let goes_on = after.is_up() && before.conditions.has(Condition::Paused);
                    match node.role {
                        Role::Lock => self.warn(text),
                        Role::Cache if goes_on => self.warn(text),
                        Role::Cache => self.lose(text),
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
        let ledger = self.scenario.workload.ledger();
        let in_cache = ledger.is_some_and(|ledger| ledger.stock_in == StockIn::Redis);
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
        if !self.flaws.lost.contains(&what) {
            self.flaws.lost.push(what.clone());
            self.warn(what);
        }
    }

    /// Whether nothing is left that the load could run on.
    pub(super) fn cannot_go_on(&self) -> bool {
        self.lab.watch.keeper_gone
    }

    /// An order changes the state of a host from now on; what changed before was somebody else.
    pub(super) fn order_begins(&mut self, host: HostId) {
        self.watch();
        self.lab.watch.order(host, true);
    }

    /// The order is carried out, or has failed: what it changed was its doing.
    pub(super) fn order_ends(&mut self, host: HostId) {
        self.watch();
        self.lab.watch.order(host, false);
    }
}
