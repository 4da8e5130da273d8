use std::fmt;

/// A set of nodes, by their positions from 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NodeSet(u64);

impl NodeSet {
    /// No nodes.
    pub const EMPTY: Self = Self(0);

    /// The first `nodes` positions, 64 at most.
    #[must_use]
    pub const fn first(nodes: usize) -> Self {
        if nodes >= 64 {
            Self(u64::MAX)
        } else {
            Self((1 << nodes) - 1)
        }
    }

    /// Adds a node. Returns whether it was not in the set before.
    pub const fn insert(&mut self, node: usize) -> bool {
        let before = self.0;
        self.0 |= 1 << node;
        self.0 != before
    }

    /// Removes a node. Returns whether it was in the set.
    pub const fn remove(&mut self, node: usize) -> bool {
        let before = self.0;
        self.0 &= !(1 << node);
        self.0 != before
    }

    /// Whether the node is in the set.
    #[must_use]
    pub const fn contains(self, node: usize) -> bool {
        self.0 & (1 << node) != 0
    }

    /// The number of nodes in the set.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl IntoIterator for NodeSet {
    type Item = usize;
    type IntoIter = Nodes;

    fn into_iter(self) -> Nodes {
        Nodes(self.0)
    }
}

impl FromIterator<usize> for NodeSet {
    fn from_iter<I: IntoIterator<Item = usize>>(nodes: I) -> Self {
        let mut set = Self::EMPTY;
        for node in nodes {
            set.insert(node);
        }
        set
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(*self).finish()
    }
}

/// The positions of a set, in order.
#[derive(Debug, Clone)]
pub struct Nodes(u64);

impl Iterator for Nodes {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let node = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_what_was_put_in_in_order() {
        let mut set: NodeSet = [63, 0, 7].into_iter().collect();
        assert!(!set.insert(7) && set.insert(3) && set.remove(0) && !set.remove(0));
        assert_eq!(set.into_iter().collect::<Vec<_>>(), [3, 7, 63]);
        assert_eq!((set.len(), set.contains(7), set.contains(8)), (3, true, false));
        assert_eq!((NodeSet::first(0), NodeSet::first(64).len()), (NodeSet::EMPTY, 64));
        assert_eq!(format!("{:?}", NodeSet::first(2)), "{0, 1}");
    }
}
