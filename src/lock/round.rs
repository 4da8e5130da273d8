//! The answers of several nodes to one question.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::reply::Reply;
use crate::model::Cause;

/// What came of a command sent to one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The node replied with this number.
    Int(i64),
    /// It gave no usable answer.
    Failed(Cause),
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Int(number) => Self::Int(number),
            other => Self::Failed(other.cause()),
        }
    }
}

/// A place for the answer of each node, and for one task that waits for them.
#[derive(Debug)]
pub(super) struct Round {
    answers: Mutex<Vec<Option<Answer>>>,
    changed: Notify,
}

impl Round {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            answers: Mutex::new(vec![None; nodes]),
            changed: Notify::new(),
        }
    }

    /// Writes down the answer of node `index`.
    pub(super) fn put(&self, index: usize, answer: Answer) {
        self.lock()[index] = Some(answer);
        self.changed.notify_one();
    }

    /// Waits until `enough` of the answers came, all of them did, or the time is over; gives what is there then.
    pub(super) async fn wait(&self, until: Instant, enough: impl Fn(&[Option<Answer>]) -> bool) -> Vec<Option<Answer>> {
        let complete = async {
            while !self.done(&enough) {
                self.changed.notified().await;
            }
        };
        // Late or not, what has arrived counts: the caller reads the clock after the answers.
        let _ = timeout_at(until, complete).await;
        self.lock().clone()
    }

    fn done(&self, enough: impl Fn(&[Option<Answer>]) -> bool) -> bool {
        let answers = self.lock();
        enough(&answers) || answers.iter().all(Option::is_some)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Answer>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
