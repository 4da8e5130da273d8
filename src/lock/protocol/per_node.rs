use std::ops::{Deref, DerefMut};

/// One value for each node; no allocation for up to five nodes.
#[derive(Debug, Clone)]
pub struct PerNode<T>(Values<T>);

const FEW: usize = 5;

#[derive(Debug, Clone)]
enum Values<T> {
    Few([T; FEW], usize),
    Many(Vec<T>),
}

impl<T: Default> PerNode<T> {
    /// The default value for each of `nodes` nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self(if nodes <= FEW {
            Values::Few(Default::default(), nodes)
        } else {
            Values::Many((0..nodes).map(|_| T::default()).collect())
        })
    }
}

impl<T> Deref for PerNode<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Values::Few(values, nodes) => &values[..*nodes],
            Values::Many(values) => values,
        }
    }
}

impl<T> DerefMut for PerNode<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Values::Few(values, nodes) => &mut values[..*nodes],
            Values::Many(values) => values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_nodes_has_a_value_each() {
        for nodes in [0, 1, 5, 6, 64] {
            let mut values = PerNode::<usize>::new(nodes);
            values.iter_mut().enumerate().for_each(|(node, value)| *value = node);
            assert!(values.iter().copied().eq(0..nodes));
        }
    }
}
