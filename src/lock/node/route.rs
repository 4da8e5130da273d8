//! How a command came to its node.

/// How a command came to its node, if other nodes of a cluster have sent it on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Route {
    /// How many nodes have sent it on.
    pub(crate) redirections: u8,
    /// Whether the node is to run it although it does not have the key's slot yet.
    pub(crate) asking: bool,
}
