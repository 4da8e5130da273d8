//! The list of a lab's nodes. Their ports, the numbers that the keeper uses, their directories and their start all follow
//! it.

use super::node_name::{NodeName, Role};
use crate::model::HostId;

/// The nodes of each host.
const ON_EACH_HOST: [Role; 1] = [Role::Lock];
/// The nodes on a machine of their own, which no fault hits.
const APART: [Role; 1] = [Role::Cache];

/// The nodes of a lab with `hosts` hosts, in the order of their ports.
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
