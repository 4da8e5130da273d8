//! The extensions of one lock that callers wait for.

use std::task::{Poll, Waker};

use crate::{
    Cause,
    protocol::{Answer, Extension, NodeSet, PerNode, Time},
};

#[derive(Debug, Default)]
pub(super) struct Extensions(Vec<Waited>);

#[derive(Debug)]
struct Waited {
    /// When it was asked for; tells it from others.
    asked: Time,
    extension: Extension,
    /// Why nodes did not extend the lock, where that is not simply that the key is gone.
    causes: PerNode<Option<Cause>>,
    waiter: Option<Waker>,
}

impl Extensions {
    /// Begins an extension on `nodes`, with the causes why others are not asked. When it counts as asked: a little before
    /// `now` if another one was asked at the same time.
    pub(super) fn begin(&mut self, nodes: NodeSet, causes: PerNode<Option<Cause>>, now: Time) -> Time {
        let mut asked = now;
        while self.get(asked).is_some() {
            asked = asked.before(std::time::Duration::from_nanos(1));
        }
        self.0.push(Waited {
            asked,
            extension: Extension::new(causes.len(), nodes),
            causes,
            waiter: None,
        });
        asked
    }

    /// Takes the answer of a node to the extension of that time, if somebody waits for it; whom to wake.
    pub(super) fn on_answer(
        &mut self,
        asked: Time,
        node: usize,
        answer: Answer,
        cause: Option<Cause>,
    ) -> Option<Waker> {
        let waited = self.get(asked)?;
        waited.causes[node] = cause;
        if waited.extension.on_answer(node, answer) {
            waited.waiter.take()
        } else {
            None
        }
    }

    /// Whether the extension is decided; if not, `waker` is woken when it is.
    pub(super) fn poll_decided(&mut self, asked: Time, waker: &Waker) -> Poll<()> {
        match self.get(asked) {
            Some(waited) if !waited.extension.is_decided() => {
                remember(&mut waited.waiter, waker);
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }

    /// Why each node did not extend the lock, none where it did; none at all if a quorum did.
    pub(super) fn missed(&mut self, asked: Time) -> Option<Vec<Option<Cause>>> {
        let waited = self.get(asked).filter(|waited| !waited.extension.is_extended())?;
        let cause = |node: usize| match waited.extension.answer(node) {
            Some(Answer::Yes) => None,
            Some(Answer::No) => Some(Cause::Held),
            Some(Answer::Never | Answer::Unknown) => waited.causes[node].clone(),
            None => Some(Cause::Timeout),
        };
        Some((0..waited.causes.len()).map(cause).collect())
    }

    /// Forgets the extension.
    pub(super) fn end(&mut self, asked: Time) {
        self.0.retain(|waited| waited.asked != asked);
    }

    fn get(&mut self, asked: Time) -> Option<&mut Waited> {
        self.0.iter_mut().find(|waited| waited.asked == asked)
    }
}

/// Remembers whom to wake.
pub(super) fn remember(waiter: &mut Option<Waker>, waker: &Waker) {
    match waiter {
        Some(waiter) => waiter.clone_from(waker),
        None => *waiter = Some(waker.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_of_one_instant_are_told_apart() {
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
