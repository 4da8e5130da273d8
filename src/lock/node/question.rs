//! Commands that do not belong to a lock, sent to several nodes, and their answers.

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::reply::Reply;
use super::route::Route;
use super::wire::Packed;
use crate::cause::Cause;
use crate::clock;
use crate::protocol::Time;

/// A node's answer: a number, or why there is none.
pub(crate) type Answered = Result<i64, Cause>;

impl From<Reply> for Answered {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Int(number) => Ok(number),
            // To a barrier; nobody asks for its text.
            Reply::Text(_) => Ok(0),
            other => Err(other.cause()),
        }
    }
}

/// A command for one node that may run late or never.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) command: Packed,
    /// Where the answer goes, and the node's position there. `None` if nobody waits for the answer.
    pub(crate) answers: Option<(UnboundedSender<(usize, Answered)>, usize)>,
    pub(crate) route: Route,
}

impl Question {
    pub(crate) fn put(self, answer: Answered) {
        if let Some((answers, node)) = self.answers {
            // This fails if nobody waits any more.
            let _ = answers.send((node, answer));
        }
    }
}

/// Waits until there are `enough` answers of so many nodes, all have come, or `until`; returns the answers that have come by
/// then. Each node that was asked has a sender of its own, which ends with its answer.
pub(crate) async fn collect(
    mut answers: UnboundedReceiver<(usize, Answered)>,
    nodes: usize,
    until: Time,
    enough: impl Fn(&[Option<Answered>]) -> bool,
) -> Vec<Option<Answered>> {
    let mut collected = vec![None; nodes];
    let complete = async {
        while !enough(&collected)
            && let Some((node, answer)) = answers.recv().await
        {
            collected[node] = Some(answer);
        }
    };
    // Answers count even if the timeout fired meanwhile: the caller reads the clock after them.
    let _ = clock::timeout_at(until, complete).await;
    while let Ok((node, answer)) = answers.try_recv() {
        collected[node] = Some(answer);
    }
    collected
}
