use super::answer::Answer;
use super::node_set::NodeSet;
use super::quorum::quorum;

/// The answers to one extension that a caller waits for.
#[derive(Debug, Clone, Copy)]
pub struct Extension {
    nodes: usize,
    extended: NodeSet,
    gone: NodeSet,
    failed: NodeSet,
}

impl Extension {
    /// An extension of a lock on `nodes` nodes. Only `asked` are asked; the others do not have the key.
    #[must_use]
    pub fn new(nodes: usize, asked: NodeSet) -> Self {
        Self {
            nodes,
            extended: NodeSet::EMPTY,
            gone: NodeSet::EMPTY,
            failed: (0..nodes).filter(|&node| !asked.contains(node)).collect(),
        }
    }

    /// Takes the answer of a node. Returns whether the extension is decided, so that the caller need not wait any longer.
    pub fn on_answer(&mut self, node: usize, answer: Answer) -> bool {
        match answer {
            Answer::Yes => &mut self.extended,
            Answer::No => &mut self.gone,
            Answer::Never | Answer::Unconfirmed | Answer::Unknown => &mut self.failed,
        }
        .insert(node);
        self.is_decided()
    }

    /// Whether no further answer can change the result: a quorum extended the key, too many nodes do not have it, or all
    /// have answered.
    #[must_use]
    pub const fn is_decided(&self) -> bool {
        let answered = self.extended.len() + self.gone.len() + self.failed.len();
        self.is_extended() || self.gone.len() > self.nodes - quorum(self.nodes) || answered >= self.nodes
    }

    /// The answer of this node; [`Answer::Never`] if it was not asked, `None` if it has not answered.
    #[must_use]
    pub const fn answer(&self, node: usize) -> Option<Answer> {
        if self.extended.contains(node) {
            Some(Answer::Yes)
        } else if self.gone.contains(node) {
            Some(Answer::No)
        } else if self.failed.contains(node) {
            Some(Answer::Never)
        } else {
            None
        }
    }

    /// Whether a quorum extended the key. This does not say how long the lock is valid.
    #[must_use]
    pub const fn is_extended(&self) -> bool {
        self.extended.len() >= quorum(self.nodes)
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
