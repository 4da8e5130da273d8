//! Extensions of one lock whose callers wait for the result.

use std::task::{Poll, Waker};

use crate::cause::Cause;
use crate::protocol::{Answer, Extension, NodeSet, PerNode, Time};

#[derive(Debug, Default)]
pub(super) struct Extensions(Vec<PendingExtension>);

#[derive(Debug)]
struct PendingExtension {
    /// When it was asked for; this identifies the extension.
    asked: Time,
    extension: Extension,
    /// Why nodes did not extend the lock, unless the key is simply gone.
    causes: PerNode<Option<Cause>>,
    waiter: Option<Waker>,
}

impl Extensions {
    /// Begins an extension on `nodes`; `causes` says why other nodes are not asked. Returns the time at which it counts as
    /// asked, which is a little before `now` if another extension was asked at the same time.
    pub(super) fn begin(&mut self, nodes: NodeSet, causes: PerNode<Option<Cause>>, now: Time) -> Time {
        let mut asked = now;
        while self.get(asked).is_some() {
            asked = asked.before(std::time::Duration::from_nanos(1));
        }
        self.0.push(PendingExtension {
            asked,
            extension: Extension::new(causes.len(), nodes),
            causes,
            waiter: None,
        });
        asked
    }

    /// Takes the answer of a node to the extension that was asked for at `asked`, if its caller still waits. Returns the
    /// waker of a caller whose extension is now decided.
    pub(super) fn on_answer(
        &mut self,
        asked: Time,
        node: usize,
        answer: Answer,
        cause: Option<Cause>,
    ) -> Option<Waker> {
        let pending = self.get(asked)?;
        pending.causes[node] = cause;
        if pending.extension.on_answer(node, answer) {
            pending.waiter.take()
        } else {
            None
        }
    }

    /// Ready once the extension is decided; until then `waker` is kept, to be woken at that time.
    pub(super) fn poll_decided(&mut self, asked: Time, waker: &Waker) -> Poll<()> {
        match self.get(asked) {
            Some(pending) if !pending.extension.is_decided() => {
                remember(&mut pending.waiter, waker);
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }

    /// Why each node did not extend the lock, `None` for each node that did; `None` altogether if a quorum did.
    pub(super) fn missed(&mut self, asked: Time) -> Option<Vec<Option<Cause>>> {
        let pending = self.get(asked).filter(|pending| !pending.extension.is_extended())?;
        let cause = |node: usize| match pending.extension.answer(node) {
            Some(Answer::Yes) => None,
            Some(Answer::No) => Some(Cause::Held),
            Some(Answer::Never | Answer::Unconfirmed | Answer::Unknown) => pending.causes[node].clone(),
            None => Some(Cause::Timeout),
        };
        Some((0..pending.causes.len()).map(cause).collect())
    }

    /// Forgets the extension.
    pub(super) fn end(&mut self, asked: Time) {
        self.0.retain(|pending| pending.asked != asked);
    }

    fn get(&mut self, asked: Time) -> Option<&mut PendingExtension> {
        self.0.iter_mut().find(|pending| pending.asked == asked)
    }
}

/// Stores `waker`, without a clone if it is the same.
pub(crate) fn remember(waiter: &mut Option<Waker>, waker: &Waker) {
    match waiter {
        Some(waiter) => waiter.clone_from(waker),
        None => *waiter = Some(waker.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_of_the_same_instant_are_distinguished() {
        let mut extensions = Extensions::default();
        let (now, nodes) = (Time::from_nanos(9), NodeSet::first(1));
        let first = extensions.begin(nodes, PerNode::new(1), now);
        let second = extensions.begin(nodes, PerNode::new(1), now);
        assert!(first != second && second < now);
        extensions.on_answer(second, 0, Answer::Never, Some(Cause::Suspect));
        assert!(extensions.poll_decided(second, Waker::noop()).is_ready());
        assert!(extensions.poll_decided(first, Waker::noop()).is_pending());
        assert_eq!(extensions.missed(second), Some(vec![Some(Cause::Suspect)]));
        assert_eq!(extensions.missed(first), Some(vec![Some(Cause::Timeout)]));
        assert!(extensions.on_answer(first, 0, Answer::Yes, None).is_some());
        assert_eq!(extensions.missed(first), None);
        extensions.end(first);
        extensions.end(second);
        assert!(extensions.0.is_empty());
    }
}
