//! The law of two holders, for an odd number of nodes N: a second client can win as soon as the holder has lost *votes − f*
//! keys, where f = (N − 1) / 2 is the number of nodes that a client can do without. The search does not use it: it is what the
//! search is compared with, and what explains a recipe.

/// How many nodes a client can do without: f.
pub const fn spare_nodes(nodes: usize) -> usize {
    nodes.saturating_sub(1) / 2
}

/// How many of its keys a holder with so many votes must lose until a second client can win.
pub const fn needed_losses(nodes: usize, votes: usize) -> usize {
    votes.saturating_sub(spare_nodes(nodes))
}
