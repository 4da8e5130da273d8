use std::collections::BTreeSet;

use strum::VariantArray;

use super::fault::{ClientFault, NodeFault};

/// Which faults happen to which nodes and clients. All nodes are alike, so the order of the nodes says nothing: two schedules that
/// differ only in the names of the nodes are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Schedule {
    /// Those whose keys are lost first, then the untouched ones, and those that are not there at the acquire last.
    nodes: Vec<BTreeSet<NodeFault>>,
    clients: BTreeSet<ClientFault>,
}

impl Schedule {
    /// Nothing goes wrong on so many nodes.
    pub fn empty(nodes: usize) -> Self {
        Self {
            nodes: vec![BTreeSet::new(); nodes],
            clients: BTreeSet::new(),
        }
    }

    /// A schedule with these faults for the nodes, one for each from the first node on, and for the clients. Faults beyond the
    /// number of nodes are left out.
    pub fn of(nodes: usize, faults: &[NodeFault], clients: &[ClientFault]) -> Self {
        let mut schedule = Self::empty(nodes);
        for (node, fault) in schedule.nodes.iter_mut().zip(faults) {
            node.insert(*fault);
        }
        schedule.clients.extend(clients);
        schedule.in_order()
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The number of faults.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(BTreeSet::len).sum::<usize>() + self.clients.len()
    }

    /// Whether nothing goes wrong.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The positions of the nodes that have this fault.
    pub fn having(&self, fault: NodeFault) -> Vec<usize> {
        let has = |node: &usize| self.nodes[*node].contains(&fault);
        (0..self.nodes.len()).filter(has).collect()
    }

    /// Whether a client has this fault.
    pub fn has(&self, fault: ClientFault) -> bool {
        self.clients.contains(&fault)
    }

    /// All faults of nodes, with the positions of the nodes.
    pub fn of_nodes(&self) -> impl Iterator<Item = (usize, NodeFault)> {
        let faults = |(node, faults)| std::iter::repeat(node).zip::<&BTreeSet<NodeFault>>(faults);
        self.nodes
            .iter()
            .enumerate()
            .flat_map(faults)
            .map(|(node, fault)| (node, *fault))
    }

    /// All faults of clients.
    pub fn of_clients(&self) -> impl Iterator<Item = ClientFault> {
        self.clients.iter().copied()
    }

    /// All schedules with one fault more.
    pub fn longer(&self) -> BTreeSet<Self> {
        let of_nodes = (0..self.nodes.len()).flat_map(|node| {
            let new = move |fault: &&NodeFault| !self.nodes[node].contains(fault);
            NodeFault::VARIANTS.iter().filter(new).map(move |fault| {
                let mut longer = self.clone();
                longer.nodes[node].insert(*fault);
                longer.in_order()
            })
        });
        let of_clients = ClientFault::VARIANTS
            .iter()
            .filter(|fault| !self.has(**fault))
            .map(|fault| {
                let mut longer = self.clone();
                longer.clients.insert(*fault);
                longer
            });
        of_nodes.chain(of_clients).collect()
    }

    /// All schedules with one fault less.
    pub fn shorter(&self) -> BTreeSet<Self> {
        let of_nodes = self.of_nodes().map(|(node, fault)| {
            let mut shorter = self.clone();
            shorter.nodes[node].remove(&fault);
            shorter.in_order()
        });
        let of_clients = self.of_clients().map(|fault| {
            let mut shorter = self.clone();
            shorter.clients.remove(&fault);
            shorter
        });
        of_nodes.chain(of_clients).collect()
    }

    fn in_order(mut self) -> Self {
        self.nodes.sort_by_cached_key(|faults| {
            let place = match faults.first() {
                None => 1,
                Some(fault) if fault.is_before_the_acquire() => 2,
                Some(_) => 0,
            };
            (place, faults.clone())
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_that_differ_only_in_the_names_of_nodes_are_one() {
        use NodeFault::{Away, Forgets};
        let one = Schedule::of(3, &[Forgets, Away], &[]);
        assert_eq!(one, Schedule::of(3, &[Away, Forgets], &[]));
        assert_eq!((one.having(Forgets), one.having(Away)), (vec![0], vec![2]));
        assert_eq!((one.len(), one.nodes(), one.is_empty()), (2, 3, false));
    }

    #[test]
    fn each_schedule_comes_once() {
        let (node, client) = (NodeFault::VARIANTS.len(), ClientFault::VARIANTS.len());
        for nodes in [3, 5] {
            let one = Schedule::empty(nodes).longer();
            assert_eq!(one.len(), node + client);
            let two: BTreeSet<Schedule> = one.iter().flat_map(Schedule::longer).collect();
            // Two faults on one node; one each on two nodes; a node and a client; two clients.
            let pairs = |n: usize| n * (n - 1) / 2;
            let expected = pairs(node) + pairs(node + 1) + node * client + pairs(client);
            assert_eq!(two.len(), expected);
            assert!(two.iter().all(|schedule| schedule.len() == 2));
            let back: BTreeSet<Schedule> = two.iter().flat_map(Schedule::shorter).collect();
            assert_eq!(back, one);
        }
    }
}
