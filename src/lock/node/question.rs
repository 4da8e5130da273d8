//! Commands that do not belong to a lock, sent to several nodes, and their answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

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
            other => Err(other.cause()),
        }
    }
}

/// A command for one node that may run late or never.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) command: Packed,
    /// Where the answer goes, and the node's position there. `None` if nobody waits for the answer.
    pub(crate) answers: Option<(Arc<Answers>, usize)>,
    pub(crate) route: Route,
}

impl Question {
    pub(crate) fn put(self, answer: Answered) {
        if let Some((answers, node)) = self.answers {
            answers.put(node, answer);
        }
    }
}

/// The answers of all asked nodes, for one task that waits for them.
#[derive(Debug)]
pub(crate) struct Answers {
    answers: Mutex<Vec<Option<Answered>>>,
    changed: Notify,
}

impl Answers {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            answers: Mutex::new(vec![None; nodes]),
            changed: Notify::new(),
        }
    }

    fn put(&self, node: usize, answer: Answered) {
        self.lock()[node] = Some(answer);
        self.changed.notify_one();
    }

    /// Waits until there are `enough` answers, all have come, or `until`; returns the answers that have come by then.
    pub(crate) async fn wait(
        &self,
        until: Time,
        enough: impl Fn(&[Option<Answered>]) -> bool,
    ) -> Vec<Option<Answered>> {
        let complete = async {
            while !self.is_complete(&enough) {
                self.changed.notified().await;
            }
        };
        // Answers count even if the timeout fired meanwhile: the caller reads the clock after them.
        let _ = clock::timeout_at(until, complete).await;
        self.lock().clone()
    }

    fn is_complete(&self, enough: impl Fn(&[Option<Answered>]) -> bool) -> bool {
        let answers = self.lock();
        enough(&answers) || answers.iter().all(Option::is_some)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Answered>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
