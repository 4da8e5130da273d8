//! Changes to the lab and the databases that nobody ordered: they are logged, and a run that has lost what it needs is
//! void.

use crate::collect::auditor::LiveAudit;
use crate::engine::state::Engine;
use crate::watch::processes::{Change, change_elsewhere, outside_change};
use lockstorm_data::model::{Condition, HostId};
use lockstorm_data::scenario::{LockNodes, StockIn};
use lockstorm_lab::Role;

impl Engine {
    /// Logs what changed in the lab without an order. The death of a lock node is a fault like any other; without the
    /// cache node or the keeper the run proves nothing.
    pub(crate) fn watch(&mut self) {
        for change in self.lab.watch.look(&self.lab.handle) {
            match change {
                Change::Node(node, before, after) => {
                    let goes_on = after.is_up() && before.conditions.has(Condition::Paused);
                    let hit = node.host.filter(|_| !after.is_up());
                    let consequence = hit.map_or_else(String::new, |host| self.consequence(host));
                    let what = match self.lab.handle.is_ours(node) {
                        true => outside_change(&before, &after),
                        false => change_elsewhere(&before, &after),
                    };
                    let text = format!("{node} {what}{consequence}");
                    match node.role {
                        Role::Cache if !goes_on => self.lose(text),
                        Role::Lock
                        | Role::Cache
                        | Role::Replicated
                        | Role::Sentinel
                        | Role::FirstInCluster
                        | Role::SecondInCluster => self.warn(text),
                    }
                }
                Change::Moved(node, [before, now]) => self.warn(format!(
                    "{node} listens on port {now} now: somebody else has taken port {before}"
                )),
                Change::KeeperStopped(true) => self.lose(
                    "a signal from outside stopped the keeper process: changes to hosts can't be seen".to_owned(),
                ),
                Change::KeeperStopped(false) => self.warn("the keeper process was resumed".to_owned()),
                Change::Keeper(words) => {
                    let others = if self.scenario.lab.are_ours() {
                        "all hosts and "
                    } else {
                        ""
                    };
                    self.lose(format!(
                        "the keeper process is gone ({words}), and {others}the cache node with it: the load ends"
                    ));
                }
            }
        }
        let ledger = self.scenario.workload.ledger();
        let in_cache = ledger.is_some_and(|ledger| ledger.stock_in == StockIn::Redis);
        let ledger = if in_cache { "the cache node" } else { "its database" };
        for index in 0..self.arms.len() {
            let arm = &self.arms[index];
            for text in [arm.without_database(), arm.unreadable()].into_iter().flatten() {
                self.doubt(index, text);
            }
            let arm = &mut self.arms[index];
            // Once its books are closed, nobody reads them any more.
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

    /// Notes the arms that had no quorum at the end because of hosts that went away without an order and did not come back: their
    /// nothing was shown of its locks since then. Of our own nodes, one that somebody kills is a fault like any other: it can be seen who
    /// did what to the process. What became of somebody else's server is not known.
    pub(crate) fn doubt_arms_without_nodes(&mut self) {
        self.watch();
        if self.scenario.lab.are_ours() {
            return;
        }
        for index in 0..self.arms.len() {
            let spec = &self.arms[index].spec;
            if !matches!(spec.nodes(), LockNodes::OneHost | LockNodes::EveryHost) {
                continue;
            }
            let hosts = spec.hosts_in(&self.scenario.lab);
            let up = hosts.iter().filter(|host| self.lab.handle.state(**host).is_up());
            let lost = hosts.iter().filter(|host| self.lab.watch.is_lost(**host));
            let lost: Vec<String> = lost.map(ToString::to_string).collect();
            if up.count() * 2 > hosts.len() || lost.is_empty() {
                continue;
            }
            let text = format!(
                "{}: no quorum at the end: {} went away without an order, and did not come back",
                spec.name,
                lost.join(", ")
            );
            self.doubt(index, text);
        }
    }

    /// Notes the loss of something without which the run proves nothing. It is announced once.
    pub(crate) fn lose(&mut self, what: String) {
        if !self.flaws.lost.contains(&what) {
            self.flaws.lost.push(what.clone());
            self.warn(what);
        }
    }

    /// Whether the load has nothing left to run on.
    pub(crate) fn cannot_go_on(&self) -> bool {
        self.lab.watch.keeper_gone
    }

    /// Notes that an order begins. From now on it is the cause of changes to this host; earlier changes came from outside.
    pub(crate) fn order_begins(&mut self, host: HostId) {
        self.watch();
        self.lab.watch.order(host, true);
    }

    /// Notes that the order was carried out or has failed: the changes until now were its effect.
    pub(crate) fn order_ends(&mut self, host: HostId) {
        self.watch();
        self.lab.watch.order(host, false);
    }
}
