use super::answer::Answer;
use super::node_set::NodeSet;
use super::per_node::PerNode;
use super::quorum::quorum;

/// The answers to one extension that a caller waits for.
#[derive(Debug, Clone)]
pub struct Extension(PerNode<Option<Answer>>);

impl Extension {
    /// An extension of a lock on `nodes` nodes. Only `asked` are asked; the others do not have the key.
    #[must_use]
    pub fn new(nodes: usize, asked: NodeSet) -> Self {
        let mut answers = PerNode::new(nodes);
        for node in (0..nodes).filter(|&node| !asked.contains(node)) {
            answers[node] = Some(Answer::Never);
        }
        Self(answers)
    }

    /// Takes the answer of a node. Returns whether the extension is decided, so that the caller need not wait any longer.
    pub fn on_answer(&mut self, node: usize, answer: Answer) -> bool {
        self.0[node] = Some(answer);
        self.is_decided()
    }

    /// Whether no further answer can change the result: a quorum extended the key, too many nodes do not have it, or all
    /// have answered.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        let nodes = self.0.len();
        self.is_extended() || self.count(Answer::No) > nodes - quorum(nodes) || self.0.iter().all(Option::is_some)
    }

    /// The answer of this node; [`Answer::Never`] if it was not asked, `None` if it has not answered.
    #[must_use]
    pub fn answer(&self, node: usize) -> Option<Answer> {
        self.0[node]
    }

    /// Whether a quorum extended the key. This does not say how long the lock is valid.
    #[must_use]
    pub fn is_extended(&self) -> bool {
        self.count(Answer::Yes) >= quorum(self.0.len())
    }

    fn count(&self, answer: Answer) -> usize {
        self.0.iter().filter(|given| **given == Some(answer)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_is_decided_by_a_quorum_by_too_many_lost_keys_or_by_the_last_answer() {
        let new = || Extension::new(3, NodeSet::first(3));
        let mut extension = new();
        assert!(!extension.on_answer(0, Answer::Yes));
        assert!(extension.on_answer(2, Answer::Yes) && extension.is_extended());
        let mut extension = new();
        assert!(!extension.on_answer(0, Answer::No));
        assert!(extension.on_answer(1, Answer::No) && !extension.is_extended());
        let mut extension = new();
        assert!(!extension.on_answer(0, Answer::Never));
        assert!(!extension.on_answer(1, Answer::Unknown));
        assert!(extension.on_answer(2, Answer::Yes) && !extension.is_extended());
        // Nodes that are not asked are not waited for.
        let mut extension = Extension::new(3, NodeSet::first(1));
        assert!(extension.on_answer(0, Answer::Yes) && !extension.is_extended());
        assert_eq!(
            (extension.answer(0), extension.answer(1)),
            (Some(Answer::Yes), Some(Answer::Never))
        );
        assert_eq!(new().answer(0), None);
    }
}
