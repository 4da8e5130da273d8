//! The commands that are queued for a node.

use std::{fmt, sync::Arc};

use super::{
    question::Question,
    reply::Reply,
    wire::{DELETE, Native, RELEASE, Wire},
};
use crate::{
    Cause,
    protocol::{Answer, Command, Time},
};

/// Who asks a node for a lock, and hears what came of it.
pub(crate) trait Asker: fmt::Debug + Send + Sync {
    /// The commands, packed.
    fn wire(&self) -> &Wire;

    /// A command for node `node` is being written, at `now`. False if it was withdrawn and must not be.
    fn on_written(&self, node: usize, command: Command, now: Time) -> bool;

    /// Takes what is known of a command for node `node`; `now` was read after the reply. Whether the node has nothing of this
    /// lock and will be told nothing more of it; a delete that is not finished is owed.
    fn on_answer(&self, node: usize, report: Report, now: Time) -> bool;

    /// The node told somebody of the release.
    fn on_told(&self, node: usize);
}

/// What is known of a command for a lock.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) command: Command,
    /// When it was queued.
    pub(crate) asked: Time,
    pub(crate) answer: Answer,
    /// What was wrong if it was not run.
    pub(crate) cause: Option<Cause>,
}

/// A command for one node.
#[derive(Debug)]
pub(crate) enum Job {
    /// One for a lock.
    Lock(LockJob),
    /// Something that may as well run late or never.
    Ask(Question),
}

/// A command for a lock, and who hears of its reply. A `Set` is withdrawn by its asker as long as it is not written; a
/// `Delete` is owed once it is queued: a broken connection does not end it.
#[derive(Debug)]
pub(crate) struct LockJob {
    pub(crate) command: Command,
    pub(crate) asker: Arc<dyn Asker>,
    /// The node's position among those of the asker.
    pub(crate) node: usize,
    /// The clock before it was queued.
    pub(crate) asked: Time,
    /// Of a delete: whether those who wait for the key are to be told.
    pub(crate) announce: bool,
    /// Send the script itself: the node does not know its hash.
    pub(crate) spelled_out: bool,
}

/// What became of a job.
#[derive(Debug)]
pub(crate) enum Done {
    /// Its asker has nothing on the node any more, nor will it.
    Finished,
    /// Nothing more is to be done for it.
    Kept,
    /// It is to be sent again, at once: the node does not know the script, or the native command.
    Again(LockJob),
    /// The node would not run this delete now, and it must be run.
    Owed(LockJob),
}

impl Job {
    /// What it is for a lock; none if it is a question.
    pub(crate) const fn command(&self) -> Option<Command> {
        match self {
            Self::Lock(job) => Some(job.command),
            Self::Ask(_) => None,
        }
    }

    /// Appends the command to `out`, at `now`. False if it was withdrawn.
    pub(crate) fn write(&self, out: &mut Vec<u8>, native: Option<Native>, now: Time) -> bool {
        match self {
            Self::Lock(job) => job.write(out, native, now),
            Self::Ask(question) => {
                out.extend_from_slice(&question.command);
                true
            }
        }
    }

    /// Hands over the reply, which had come by `now`.
    pub(crate) fn reply(self, reply: Reply, now: Time) -> Done {
        match self {
            Self::Lock(job) => job.reply(reply, now),
            Self::Ask(question) => {
                question.put(reply.into());
                Done::Kept
            }
        }
    }

    /// Tells the asker that there will be no reply.
    pub(crate) fn fail(self, cause: Cause, now: Time) -> Done {
        match self {
            Self::Lock(job) => job.fail(cause, now),
            Self::Ask(question) => {
                question.put(Err(cause));
                Done::Kept
            }
        }
    }
}

impl LockJob {
    fn write(&self, out: &mut Vec<u8>, native: Option<Native>, now: Time) -> bool {
        if !self.asker.on_written(self.node, self.command, now) {
            return false;
        }
        let wire = self.asker.wire();
        match (self.command, native) {
            (Command::Set, _) => wire.set(out),
            (Command::Extend, _) => wire.extend(out, self.spelled_out),
            // These commands can't publish.
            (Command::Delete, Some(native)) if !self.announce && !self.spelled_out => wire.delete_natively(out, native),
            (Command::Delete, _) => {
                let script = if self.announce { &RELEASE } else { &DELETE };
                wire.delete(out, script, self.spelled_out);
            }
        }
        true
    }

    fn reply(mut self, reply: Reply, now: Time) -> Done {
        let (answer, cause) = match (self.command, reply) {
            (Command::Set, Reply::Ok) => (Answer::Yes, None),
            (Command::Set, Reply::Nil) => (Answer::No, None),
            (Command::Extend | Command::Delete, Reply::Int(number)) => {
                if self.command == Command::Delete && number > 1 {
                    self.asker.on_told(self.node);
                }
                (if number > 0 { Answer::Yes } else { Answer::No }, None)
            }
            (Command::Extend | Command::Delete, Reply::Error(text)) if !self.spelled_out && is_not_known(&text) => {
                self.spelled_out = true;
                return Done::Again(self);
            }
            (Command::Extend | Command::Delete, Reply::Error(text)) if is_another_type(&text) => (Answer::No, None),
            (_, reply) => (Answer::Never, Some(reply.cause())),
        };
        self.done(answer, cause, now)
    }

    fn fail(self, cause: Cause, now: Time) -> Done {
        let answer = if cause.may_have_voted() {
            Answer::Unknown
        } else {
            Answer::Never
        };
        self.done(answer, Some(cause), now)
    }

    fn done(self, answer: Answer, cause: Option<Cause>, now: Time) -> Done {
        let report = Report {
            command: self.command,
            asked: self.asked,
            answer,
            cause,
        };
        let finished = self.asker.on_answer(self.node, report, now);
        match self.command {
            _ if finished => Done::Finished,
            Command::Delete => Done::Owed(self),
            Command::Set | Command::Extend => Done::Kept,
        }
    }
}

/// Whether the node says that the key is no string any more: somebody else has put something in its place. Servers before Redis
/// 7 say so behind the words that the script failed.
fn is_another_type(error: &str) -> bool {
    error.contains("WRONGTYPE")
}

/// Whether the node says that it does not know the script, or that its user may not run a native command.
fn is_not_known(error: &str) -> bool {
    ["NOSCRIPT", "NOPERM", "ERR unknown command"]
        .iter()
        .any(|code| error.starts_with(code))
}
