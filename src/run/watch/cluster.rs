use std::collections::BTreeMap;

use lockstorm_data::model::{ClusterNode, ClusterRole, HostId};
use lockstorm_lab::NodeName;

/// The cluster of a run, as its nodes describe it.
#[derive(Debug, Default)]
pub(crate) struct LiveCluster {
    /// What each node that runs said last.
    nodes: BTreeMap<NodeName, ClusterNode>,
    /// The masters with their slots; one that is dead or paused stays until others have all slots.
    masters: BTreeMap<NodeName, u16>,
    /// For how many slots a master takes writes; `None` before the first answers.
    usable: Option<u16>,
}

/// A change of the cluster, which nobody orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// A node on this host has become the master of slots.
    Master(HostId),
    /// For so many slots a master takes writes now.
    Usable(u16),
}

impl LiveCluster {
    /// Takes what the nodes said now; one that runs but did not answer is what it was. Returns what has changed.
    pub(crate) fn take(&mut self, said: &BTreeMap<NodeName, Option<ClusterNode>>) -> Vec<Change> {
        let newest = |(name, node): (&NodeName, &Option<ClusterNode>)| {
            Some((*name, node.or_else(|| self.nodes.get(name).copied())?))
        };
        self.nodes = said.iter().filter_map(newest).collect();
        if self.nodes.is_empty() && self.usable.is_none() {
            return Vec::new();
        }
        let mut changes = self.new_masters();
        let usable: u32 = self.nodes.values().map(|node| u32::from(node.usable_slots())).sum();
        let usable = u16::try_from(usable).unwrap_or(u16::MAX).min(ClusterNode::SLOTS);
        let before = self.usable.replace(usable);
        changes.extend(
            before
                .filter(|before| part(*before) != part(usable))
                .map(|_| Change::Usable(usable)),
        );
        changes
    }

    fn new_masters(&mut self) -> Vec<Change> {
        let slots = |node: &ClusterNode| match node.role {
            ClusterRole::Master { slots: slots @ 1.. } => Some(slots),
            _ => None,
        };
        let now: BTreeMap<NodeName, u16> = self
            .nodes
            .iter()
            .filter_map(|(name, node)| Some((*name, slots(node)?)))
            .collect();
        let new = now.keys().filter(|name| !self.masters.contains_key(name));
        let changes = match self.masters.is_empty() {
            true => Vec::new(),
            false => new.filter_map(|name| name.host).map(Change::Master).collect(),
        };
        if now.values().map(|slots| u32::from(*slots)).sum::<u32>() >= u32::from(ClusterNode::SLOTS) {
            self.masters = now;
        } else {
            self.masters.extend(now);
        }
        changes
    }

    /// Whether no node takes writes, although it is known.
    pub(crate) fn is_down(&self) -> bool {
        self.usable == Some(0)
    }

    /// How many masters with slots a host has; `None` if none of its nodes in the cluster runs.
    pub(crate) fn masters_on(&self, host: HostId) -> Option<usize> {
        let mut nodes = self.nodes.iter().filter(|(name, _)| name.host == Some(host)).peekable();
        nodes.peek()?;
        Some(nodes.filter(|(_, node)| node.has_slots()).count())
    }
}

/// Whether none of the slots can be used, and whether all can.
const fn part(usable: u16) -> [bool; 2] {
    [usable == 0, usable >= ClusterNode::SLOTS]
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_lab::Role;

    fn name(host: usize, role: usize) -> NodeName {
        NodeName::on(HostId(host), Role::IN_CLUSTER[role])
    }

    fn master(slots: u16, is_ok: bool) -> ClusterNode {
        let role = ClusterRole::Master { slots };
        ClusterNode { role, is_ok }
    }

    const REPLICA: ClusterNode = ClusterNode {
        role: ClusterRole::Replica {
            master: 7001,
            connected: true,
        },
        is_ok: true,
    };

    /// Nodes that all answer.
    fn said<const N: usize>(nodes: [(NodeName, ClusterNode); N]) -> BTreeMap<NodeName, Option<ClusterNode>> {
        nodes.map(|(name, node)| (name, Some(node))).into()
    }

    #[test]
    fn a_failover_and_what_it_costs_are_noticed_once() {
        let mut cluster = LiveCluster::default();
        assert_eq!(cluster.take(&BTreeMap::new()), []);
        assert!(!cluster.is_down(), "there is none");
        let whole = said([
            (name(1, 0), master(8192, true)),
            (name(1, 1), REPLICA),
            (name(2, 0), master(8192, true)),
            (name(2, 1), REPLICA),
        ]);
        assert_eq!(cluster.take(&whole), []);
        assert_eq!(cluster.masters_on(HostId(2)), Some(1));
        // A node that did not answer in time is what it was.
        let mut silent = whole.clone();
        silent.insert(name(1, 0), None);
        assert_eq!(cluster.take(&silent), []);

        // Host 1 dies, the cluster notices it, and the replica takes over.
        let dead = said([(name(2, 0), master(8192, true)), (name(2, 1), REPLICA)]);
        assert_eq!(cluster.take(&dead), [Change::Usable(8192)]);
        assert_eq!(cluster.masters_on(HostId(1)), None);
        let noticed = said([(name(2, 0), master(8192, false)), (name(2, 1), REPLICA)]);
        assert_eq!(cluster.take(&noticed), [Change::Usable(0)]);
        assert!(cluster.is_down());
        assert_eq!(cluster.take(&noticed), []);
        let replaced = said([(name(2, 0), master(8192, true)), (name(2, 1), master(8192, true))]);
        let back = Change::Usable(ClusterNode::SLOTS);
        assert_eq!(cluster.take(&replaced), [Change::Master(HostId(2)), back]);
        assert_eq!(cluster.masters_on(HostId(2)), Some(2));

        // It comes back, and is the master again later.
        let mut follows = replaced.clone();
        follows.insert(name(1, 0), Some(REPLICA));
        assert_eq!(cluster.take(&follows), []);
        assert_eq!(cluster.masters_on(HostId(1)), Some(0));
        assert_eq!(cluster.take(&whole), [Change::Master(HostId(1))]);
    }

    #[test]
    fn a_master_that_bounces_is_no_failover() {
        let mut cluster = LiveCluster::default();
        let whole = said([(name(1, 0), master(8192, true)), (name(2, 0), master(8192, true))]);
        cluster.take(&whole);
        let mut back = whole.clone();
        back.insert(name(1, 0), Some(master(8192, false)));
        assert_eq!(
            cluster.take(&back),
            [Change::Usable(8192)],
            "it waits before it takes writes"
        );
        assert_eq!(cluster.take(&whole), [Change::Usable(ClusterNode::SLOTS)]);
    }
}
