//! Watches for changes in the lab that nobody ordered: a process that was killed, stopped or continued from outside, a server
//! that is not ours and does not answer.

use std::collections::BTreeSet;
use std::time::Instant;

use lockstorm_data::facts::NodeChange;
use lockstorm_data::model::{Condition, Fault, HostId, How};
use lockstorm_lab::{HostState, Lab, NodeName, Role};

/// The last known states of the lab's processes, and how many orders are under way for each.
#[derive(Debug)]
pub(crate) struct LabWatch {
    nodes: Vec<Seen>,
    /// Hosts whose lock nodes went away without an order, and are not back.
    lost: BTreeSet<HostId>,
    pub keeper_gone: bool,
    keeper_stopped: bool,
}

#[derive(Debug)]
struct Seen {
    node: NodeName,
    state: HostState,
    /// Where it listens.
    port: Option<u16>,
    /// Orders under way: they are the cause of whatever changes meanwhile.
    orders: usize,
}

/// A change that nobody ordered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A node, its state before and after.
    Node(NodeName, HostState, HostState),
    /// A node that was started again listens on the second port, because somebody else has taken the first.
    Moved(NodeName, [u16; 2]),
    /// The keeper is gone, with its last message; every node is gone with it.
    Keeper(String),
    /// The keeper was stopped (`true`) or continued.
    KeeperStopped(bool),
}

impl LabWatch {
    /// Starts from nodes that are up, as they were when the lab was: one that has gone since is the first change.
    pub fn new(lab: &Lab) -> Self {
        let up = |state: HostState| match state.is_up() {
            true => state,
            false => HostState::up(Instant::now()),
        };
        let seen = |node| Seen {
            node,
            state: up(lab.node_state(node)),
            port: port(lab, node),
            orders: 0,
        };
        Self {
            nodes: lab.names().map(seen).collect(),
            lost: BTreeSet::new(),
            keeper_gone: false,
            keeper_stopped: false,
        }
    }

    /// Notes that an order for a host begins or ends. It covers all nodes of the host.
    pub fn order(&mut self, host: HostId, under_way: bool) {
        for seen in self.nodes.iter_mut().filter(|seen| seen.node.host == Some(host)) {
            seen.orders = if under_way {
                seen.orders + 1
            } else {
                seen.orders.saturating_sub(1)
            };
        }
    }

    /// Whether this host went away without an order and is not back.
    pub fn is_lost(&self, host: HostId) -> bool {
        self.lost.contains(&host)
    }

    /// What has changed since the last look without an order. That a node moved was never ordered.
    pub fn look(&mut self, lab: &Lab) -> Vec<Change> {
        if self.keeper_gone {
            return Vec::new();
        }
        // Asked before the states are read: while the keeper is there, they come from it.
        if let Some(words) = lab.keeper_gone() {
            self.keeper_gone = true;
            return vec![Change::Keeper(words)];
        }
        let mut changes = Vec::new();
        let stopped = lab.keeper_stopped();
        if std::mem::replace(&mut self.keeper_stopped, stopped) != stopped {
            changes.push(Change::KeeperStopped(stopped));
        }
        for seen in &mut self.nodes {
            let now = port(lab, seen.node);
            if let (Some(before), Some(now)) = (std::mem::replace(&mut seen.port, now), now)
                && before != now
            {
                changes.push(Change::Moved(seen.node, [before, now]));
            }
            let Some((before, after)) = changed(&mut seen.state, lab.node_state(seen.node)) else {
                continue;
            };
            if let (Some(host), Role::Lock) = (seen.node.host, seen.node.role) {
                match after.is_up() {
                    true => _ = self.lost.remove(&host),
                    false if seen.orders == 0 => _ = self.lost.insert(host),
                    false => {}
                }
            }
            if seen.orders == 0 {
                changes.push(Change::Node(seen.node, before, after));
            }
        }
        // The keeper may have ended in between, which looks like the death of every node.
        if let Some(words) = lab.keeper_gone() {
            self.keeper_gone = true;
            return vec![Change::Keeper(words)];
        }
        changes
    }
}

fn port(lab: &Lab, node: NodeName) -> Option<u16> {
    Some(lab.address(node)?.port())
}

/// The states before and after, if the process has changed its state since.
fn changed(seen: &mut HostState, now: HostState) -> Option<(HostState, HostState)> {
    (now.changed != seen.changed).then(|| (std::mem::replace(seen, now.clone()), now))
}

/// What happened to a server that is not ours.
pub(crate) fn change_elsewhere(before: &HostState, after: &HostState) -> NodeChange {
    if let Some(down) = after.conditions.get(Condition::Down) {
        let quoted = down.how.as_ref().map(|how| match how {
            How::Gone(why) => why.clone(),
            how => how.to_string(),
        });
        return NodeChange::Unreachable { quoted };
    }
    match (before.is_up(), after.is_up()) {
        (_, false) => NodeChange::Silent,
        (false, true) if before.conditions.has(Condition::Paused) => NodeChange::AnswersAgain,
        (false, true) => NodeChange::IsBack,
        (true, true) => NodeChange::WasDown,
    }
}

/// What happened to a process from outside.
pub(crate) fn outside_change(before: &HostState, after: &HostState) -> NodeChange {
    if let Some(down) = after.conditions.get(Condition::Down) {
        return match &down.how {
            Some(How::By(Fault::Kill)) => NodeChange::Killed,
            Some(How::By(Fault::Shutdown)) => NodeChange::ShutDown,
            how => NodeChange::Ended {
                quoted: how.as_ref().map(How::to_string),
            },
        };
    }
    let paused = |state: &HostState| state.conditions.has(Condition::Paused);
    match (paused(before), paused(after)) {
        (true, true) => NodeChange::ResumedBriefly,
        (false, true) => NodeChange::Stopped,
        (false, false) => NodeChange::StoppedBriefly,
        (true, false) => NodeChange::Resumed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_changes_from_outside() {
        let since = Instant::now();
        let up = HostState::up(since);
        let paused = HostState::only(Condition::Paused, None, since);
        let down = |how| HostState::only(Condition::Down, Some(how), since);
        assert_eq!(
            outside_change(&up, &down(How::By(Fault::Kill))).to_string(),
            "died: killed by a signal from outside"
        );
        assert_eq!(
            outside_change(&up, &down(How::Died("SIGSEGV".to_owned()))).to_string(),
            "died: SIGSEGV"
        );
        assert_eq!(
            outside_change(&up, &down(How::By(Fault::Shutdown))).to_string(),
            "ended: shut down from outside"
        );
        assert_eq!(
            outside_change(&up, &paused).to_string(),
            "was stopped by a signal from outside"
        );
        assert_eq!(
            outside_change(&paused, &paused).to_string(),
            "went on for a moment and was stopped again, by signals from outside"
        );
        assert_eq!(
            outside_change(&paused, &up).to_string(),
            "was resumed by a signal from outside"
        );
    }

    #[test]
    fn words_for_changes_elsewhere() {
        let since = Instant::now();
        let up = HostState::up(since);
        let silent = HostState::only(Condition::Paused, None, since);
        let gone = HostState::only(Condition::Down, Some(How::Gone("connection refused".to_owned())), since);
        let unknown = "whether it still has its locks is not known";
        for (before, after, words) in [
            (&up, &gone, "can't be asked any more: connection refused".to_owned()),
            (&gone, &up, format!("is back; {unknown}")),
            (&up, &up, format!("was away for a moment; {unknown}")),
            (&up, &silent, "does not answer any more".to_owned()),
            (&silent, &up, "answers again".to_owned()),
        ] {
            assert_eq!(change_elsewhere(before, after).to_string(), words);
        }
    }

    #[test]
    fn a_change_is_seen_once() {
        let since = Instant::now();
        let mut seen = HostState::up(since);
        assert_eq!(changed(&mut seen, HostState::up(since)), None);
        let later = HostState::only(Condition::Paused, None, since + std::time::Duration::from_millis(1));
        assert!(changed(&mut seen, later.clone()).is_some());
        assert_eq!(changed(&mut seen, later), None);
    }
}
