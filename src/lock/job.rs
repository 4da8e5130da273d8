//! The commands that callers queue for a node.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    ballot::Ballot,
    command::Packed,
    reply::Reply,
    round::{Answer, Round},
};
use crate::model::Cause;

/// A command for one node, and who waits for its reply.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) command: Packed,
    /// How long the node may owe the reply before it is suspect.
    pub(super) timeout: Duration,
    pub(super) purpose: Purpose,
}

#[derive(Debug)]
pub(super) enum Purpose {
    /// A vote: withdrawn by its ballot as long as it is not written.
    Vote { ballot: Arc<Ballot>, index: usize },
    /// A compare-and-delete. Once pushed it is owed: a broken connection does not end it, only `until`, when the key
    /// has expired anyway.
    Delete { until: Instant, report: Option<Report> },
    /// Something that may as well run late or never.
    Question(Report),
}

/// Where the answer to a command goes.
#[derive(Debug, Clone)]
pub(super) struct Report {
    pub(super) round: Arc<Round>,
    pub(super) index: usize,
}

impl Report {
    fn put(&self, answer: Answer) {
        self.round.put(self.index, answer);
    }
}

impl Job {
    /// Hands over the reply. A delete that the node refused to run (while it loads its data, for example) is still
    /// owed and comes back.
    pub(super) fn reply(self, reply: Reply) -> Option<Self> {
        match (&self.purpose, reply) {
            (Purpose::Delete { .. }, Reply::Error(text)) => return self.fail(Cause::Error(text)),
            (Purpose::Vote { ballot, index }, reply) => ballot.reply(*index, reply),
            (Purpose::Question(report), reply) => report.put(reply.into()),
            (Purpose::Delete { report, .. }, reply) => {
                if let Some(report) = report {
                    report.put(reply.into());
                }
            }
        }
        None
    }

    /// Tells the caller that it need not wait for a reply. A delete is still owed and comes back.
    pub(super) fn fail(mut self, cause: Cause) -> Option<Self> {
        match &mut self.purpose {
            Purpose::Vote { ballot, index } => ballot.fail(*index, cause),
            Purpose::Question(report) => report.put(Answer::Failed(cause)),
            Purpose::Delete { report, .. } => {
                if let Some(report) = report.take() {
                    report.put(Answer::Failed(cause));
                }
                return Some(self);
            }
        }
        None
    }

    pub(super) fn has_expired(&self, now: Instant) -> bool {
        matches!(self.purpose, Purpose::Delete { until, .. } if until <= now)
    }
}
