//! The commands that callers queue for a node.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    claim::Claim,
    gauges::Kind,
    reply::Reply,
    round::{Answer, Round},
    wire::{DELETE, Native, Packed, RELEASE},
};
use crate::model::Cause;

/// A command for one node, and who waits for its reply.
#[derive(Debug)]
pub(super) enum Job {
    /// Asks for a vote: withdrawn by its claim as long as it is not written.
    Set {
        place: Place,
        /// The clock before it was queued.
        start: Instant,
    },
    /// A compare-and-delete. Once pushed it is owed: a broken connection does not end it.
    Delete(Delete),
    /// Asks for the whole TTL once more.
    Extend {
        place: Place,
        /// The clock before it was queued.
        start: Instant,
        report: Option<Report>,
        /// Send the script itself: the node does not know its hash.
        spelled_out: bool,
    },
    /// Something that may as well run late or never.
    Ask(Question),
}

/// One node of a claim.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) claim: Arc<Claim>,
    /// The node's position among those of the claim.
    pub(super) index: usize,
}

#[derive(Debug)]
pub(super) struct Delete {
    pub(super) place: Place,
    /// Whether those who wait for the key are to be told.
    pub(super) announce: bool,
    /// When the key will have expired anyway.
    pub(super) until: Instant,
    /// Whether the claim still waits to hear of it.
    pub(super) awaited: bool,
    /// Send the script itself: the node does not know its hash.
    pub(super) spelled_out: bool,
}

/// A command without a claim.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) command: Packed,
    /// How long the node may owe the reply before it is suspect.
    pub(super) timeout: Duration,
    /// None: nobody waits for the answer.
    pub(super) report: Option<Report>,
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

/// What became of a job.
#[derive(Debug)]
pub(super) enum Done {
    /// Its claim has nothing on the node any more, nor will it.
    Finished,
    /// Nothing more is to be done for it.
    Kept,
    /// It is to be sent again, at once: the node does not know the script, or the native command.
    Again(Job),
    /// The node would not run it now, and it must be run.
    Owed(Delete),
}

impl Job {
    /// How long the node may owe the reply before it is suspect.
    pub(super) fn timeout(&self) -> Duration {
        match self {
            Self::Set { place, .. } | Self::Delete(Delete { place, .. }) | Self::Extend { place, .. } => {
                place.claim.node_timeout()
            }
            Self::Ask(question) => question.timeout,
        }
    }

    /// Appends the command to `out`, at `now`. False if it was withdrawn.
    pub(super) fn write(&self, out: &mut Vec<u8>, native: Option<Native>, now: Instant) -> bool {
        match self {
            Self::Set { place, .. } => {
                if !place.claim.write(place.index, now) {
                    return false;
                }
                place.claim.wire().set(out);
            }
            Self::Delete(delete) => {
                delete.place.claim.sends(delete.place.index, Kind::Delete);
                match native {
                    // These commands can't publish.
                    Some(native) if !delete.announce && !delete.spelled_out => {
                        delete.place.claim.wire().delete_natively(out, native)
                    }
                    _ => {
                        let script = if delete.announce { &RELEASE } else { &DELETE };
                        delete.place.claim.wire().delete(out, script, delete.spelled_out);
                    }
                }
            }
            Self::Extend { place, spelled_out, .. } => {
                place.claim.sends(place.index, Kind::Extend);
                place.claim.wire().extend(out, *spelled_out);
            }
            Self::Ask(question) => out.extend_from_slice(&question.command),
        }
        true
    }

    /// Hands over the reply.
    pub(super) fn reply(self, reply: Reply) -> Done {
        match (self, reply) {
            (Self::Set { place, start }, reply) => place.claim.voted(place.index, reply, start),
            (Self::Delete(delete), Reply::Int(deleted)) => delete.done(deleted),
            (Self::Delete(mut delete), Reply::Error(text)) if !delete.spelled_out && is_unknown(&text) => {
                delete.spelled_out = true;
                Done::Again(Self::Delete(delete))
            }
            (Self::Delete(delete), _) => Done::Owed(delete.postpone()),
            (
                Self::Extend {
                    place,
                    start,
                    report,
                    spelled_out: false,
                },
                Reply::Error(text),
            ) if is_unknown(&text) => Done::Again(Self::Extend {
                place,
                start,
                report,
                spelled_out: true,
            }),
            (
                Self::Extend {
                    place, start, report, ..
                },
                reply,
            ) => {
                let done = match reply {
                    Reply::Int(extended) => place.claim.extended(place.index, (extended == 1).then_some(start)),
                    _ => Done::Kept,
                };
                if let Some(report) = report {
                    report.put(reply.into());
                }
                done
            }
            (Self::Ask(question), reply) => {
                if let Some(report) = question.report {
                    report.put(reply.into());
                }
                Done::Kept
            }
        }
    }

    /// Tells the caller that there will be no reply.
    pub(super) fn fail(self, cause: Cause) -> Done {
        match self {
            Self::Set { place, .. } => place.claim.failed(place.index, cause),
            Self::Delete(delete) => Done::Owed(delete.postpone()),
            Self::Extend { report, .. } | Self::Ask(Question { report, .. }) => {
                if let Some(report) = report {
                    report.put(Answer::Failed(cause));
                }
                Done::Kept
            }
        }
    }
}

impl Delete {
    /// The node ran it: 0 if the key was gone or somebody else's, otherwise 1 and how many were told of it.
    fn done(self, deleted: i64) -> Done {
        if self.awaited {
            self.place.claim.deleted(Some(deleted > 0));
        }
        if deleted > 1 {
            self.place.claim.told(self.place.index);
        }
        Done::Finished
    }

    /// Lets its claim not wait for it any longer; it is still owed.
    pub(super) fn postpone(mut self) -> Self {
        if std::mem::take(&mut self.awaited) {
            self.place.claim.deleted(None);
        }
        self
    }

    /// Whether the key has expired by now.
    pub(super) fn has_expired(&self, now: Instant) -> bool {
        self.until <= now
    }
}

/// Whether the node says that it does not know the script, or that its user may not run a native command.
fn is_unknown(error: &str) -> bool {
    ["NOSCRIPT", "NOPERM", "ERR unknown command"]
        .iter()
        .any(|code| error.starts_with(code))
}
