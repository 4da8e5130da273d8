//! Which servers the nodes of a list are. A server that is in the list twice, under several names or with several databases, has
//! one vote: the node that was connected first has it.

use std::sync::{Arc, Mutex, PoisonError};

use super::queue::Queue;

/// The nodes of a list, and the servers that they are connected to.
pub(crate) struct Census {
    nodes: Box<[Arc<Queue>]>,
    /// Who is connected, in the order in which they came: the node's position, and what its server calls itself.
    connected: Mutex<Vec<(usize, String)>>,
}

/// One node's place in it.
#[derive(Clone)]
pub(crate) struct Seat {
    census: Arc<Census>,
    node: usize,
}

/// A connected node; it has left once this is dropped.
pub(crate) struct Connected<'a>(&'a Seat);

impl Census {
    /// A seat for each of these nodes.
    pub(crate) fn of(nodes: &[Arc<Queue>]) -> impl Iterator<Item = Seat> + use<> {
        let census = Arc::new(Self {
            nodes: nodes.into(),
            connected: Mutex::default(),
        });
        (0..nodes.len()).map(move |node| Seat {
            census: Arc::clone(&census),
            node,
        })
    }

    /// Takes a step, after which each node is told whether it is the same server as one that came before it.
    fn step(&self, step: impl FnOnce(&mut Vec<(usize, String)>)) {
        let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        step(&mut connected);
        for (node, server) in &*connected {
            let first = connected.iter().find(|(_, other)| other == server);
            let first = first.map(|(first, _)| *first);
            self.nodes[*node].on_same_server_as(first.filter(|first| first != node));
        }
    }
}

impl Seat {
    /// The node is connected to the server that calls itself by this name; `None` if it does not say.
    pub(crate) fn connected(&self, server: Option<String>) -> Connected<'_> {
        if let Some(server) = server {
            self.census.step(|connected| connected.push((self.node, server)));
        }
        Connected(self)
    }
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        let Seat { census, node } = self.0;
        census.step(|connected| connected.retain(|(other, _)| other != node));
        census.nodes[*node].on_same_server_as(None);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_node_that_was_connected_first_has_the_vote_until_it_is_gone() {
        let queues: Vec<_> = (0..4).map(|_| Arc::new(Queue::new(Duration::ZERO))).collect();
        let seats: Vec<_> = Census::of(&queues).collect();
        let told = || queues.iter().map(|queue| queue.same_server_as()).collect::<Vec<_>>();
        let server = |name: &str| Some(name.to_owned());
        let second = seats[1].connected(server("a"));
        let _other = seats[3].connected(server("b"));
        let first = seats[0].connected(server("a"));
        let _unknown = seats[2].connected(None);
        assert_eq!(told(), [Some(1), None, None, None]);
        drop(second);
        assert_eq!(told(), [None; 4]);
        let second = seats[1].connected(server("a"));
        assert_eq!(told(), [None, Some(0), None, None]);
        drop(second);
        let _second = seats[1].connected(server("c"));
        assert_eq!(told(), [None; 4]);
        drop(first);
        let _first = seats[0].connected(server("b"));
        assert_eq!(told(), [Some(3), None, None, None]);
    }
}
