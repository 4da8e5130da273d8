//! Which nodes a lab has. Ports, the numbers that the keeper knows nodes by, directories and start-up all follow this list.

use super::node_name::{NodeName, Role};
use crate::model::HostId;

/// What each host runs.
const ON_EACH_HOST: [Role; 1] = [Role::Lock];
/// What runs once, on a machine of its own that nothing happens to.
const APART: [Role; 1] = [Role::Cache];

/// The nodes of a lab with this many hosts, in the order of their ports.
pub(super) fn layout(hosts: usize) -> Vec<NodeName> {
    (0..hosts)
        .map(HostId::from_index)
        .flat_map(|host| ON_EACH_HOST.map(|role| NodeName::on(host, role)))
        .chain(APART.map(NodeName::apart))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_nodes_have_the_same_name_or_directory() {
        let nodes = layout(9);
        assert_eq!(nodes.len(), 9 * ON_EACH_HOST.len() + APART.len());
        for (index, node) in nodes.iter().enumerate() {
            for other in &nodes[..index] {
                assert_ne!(node, other);
                assert_ne!(node.directory(), other.directory());
            }
        }
    }
}
