//! Commands that are queued for a node.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::question::Question;
use super::reply::Reply;
use super::route::Route;
use super::wire::{self, DELETE, Native, RELEASE, Wire};
use crate::cause::Cause;
use crate::protocol::{Answer, Command, Letter, Time};

/// The attempt that sends a node commands for a lock, and receives the results.
pub(crate) trait Asker: fmt::Debug + Send + Sync {
    /// Its commands, packed.
    fn wire(&self) -> &Wire;

    /// When it began to ask.
    fn began(&self) -> Time;

    /// A command for node `node` is about to be written, at `now`. Returns false if it was withdrawn, or is of no use any more, and
    /// must not be written.
    fn on_written(&self, node: usize, command: Command, now: Time) -> bool;

    /// Takes the result of a command for node `node`; `now` was read after the reply. Returns whether the attempt is
    /// finished on that node: the node has no key of it, and will be sent no more commands for it. A delete that is not
    /// finished is owed.
    fn on_answer(&self, node: usize, report: Report, now: Time) -> bool;

    /// The node delivered the release to so many subscribers.
    fn on_release_delivered(&self, node: usize, subscribers: usize);

    /// A delete is given up: the key stays until its TTL is over.
    fn on_given_up(&self);
}

/// The result of a command for a lock, as far as it is known.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) command: Command,
    /// When it was queued.
    pub(crate) asked: Time,
    /// The TTL of an extension, if it is not that of the lock.
    pub(crate) ttl: Option<Duration>,
    pub(crate) answer: Answer,
    /// Why it was not run, if it was not.
    pub(crate) cause: Option<Cause>,
    /// The server that answered, if one did.
    pub(crate) server: Option<SocketAddr>,
}

/// A command for one node.
#[derive(Debug)]
pub(crate) enum Job {
    /// A command for a lock.
    Lock(LockJob),
    /// A command that may run late or never.
    Ask(Question),
    /// The part in front of a command that comes to a node by an `ASK`; it has a reply of its own.
    Asking,
}

/// A command for a lock, and the asker that gets its reply. Its asker can withdraw a `Set` or an `Extend` as long as it is not written. A
/// `Delete` is owed once it is queued: it survives a broken connection.
#[derive(Debug)]
pub(crate) struct LockJob {
    pub(crate) command: Command,
    pub(crate) asker: Arc<dyn Asker>,
    /// The node's position among those of the asker.
    pub(crate) node: usize,
    /// The time read before it was queued.
    pub(crate) asked: Time,
    /// For an extension: its TTL, if it is not that of the lock.
    pub(crate) ttl: Option<Duration>,
    /// For a delete: whether to announce the release to those who wait for the key.
    pub(crate) announce: bool,
    /// Whether to send the script itself, because the node does not know its hash.
    pub(crate) spelled_out: bool,
    pub(crate) route: Route,
    /// How many connections have broken when the node owed the reply to it first of all.
    pub(crate) deaths: u8,
    /// Until when its answer is of use.
    pub(crate) limit: Time,
}

/// A delete is given up when so many connections may have broken because of it.
const MOST_DEATHS: u8 = 2;

/// What remains to be done for a job after its reply.
#[derive(Debug)]
pub(crate) enum Done {
    /// Nothing, and its attempt is finished on the node.
    Finished,
    /// Nothing, but its attempt may still have something on the node.
    Kept,
    /// It must be sent again at once, because the node does not know the script or may not run the native command.
    Again(LockJob),
    /// The node did not run this delete, which must still be run.
    Owed(LockJob),
}

impl Letter for Job {
    fn command(&self) -> Option<Command> {
        match self {
            Self::Lock(job) => Some(job.command),
            Self::Ask(_) | Self::Asking => None,
        }
    }

    fn patience(&self) -> Duration {
        match self {
            Self::Lock(job) => job.limit - job.asked,
            Self::Ask(_) | Self::Asking => Duration::MAX,
        }
    }
}

impl Job {
    /// Whether it asks for a vote.
    pub(crate) fn is_vote(&self) -> bool {
        self.command() == Some(Command::Set)
    }

    /// How the command came to its node.
    pub(crate) fn route(&self) -> Route {
        match self {
            Self::Lock(LockJob { route, .. }) | Self::Ask(Question { route, .. }) => *route,
            Self::Asking => Route::default(),
        }
    }

    /// Sends the command by another route.
    pub(crate) fn on(mut self, by: Route) -> Self {
        match &mut self {
            Self::Lock(LockJob { route, .. }) | Self::Ask(Question { route, .. }) => *route = by,
            Self::Asking => {}
        }
        self
    }

    /// The key that it is about, if it is about one.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Lock(job) => Some(job.asker.wire().key()),
            Self::Ask(question) => question.command.key(),
            Self::Asking => None,
        }
    }

    /// Appends the command to `out`, at `now`. Returns false if it was withdrawn.
    pub(crate) fn write(&self, out: &mut Vec<u8>, native: Option<Native>, now: Time) -> bool {
        match self {
            Self::Lock(job) => job.write(out, native, now),
            Self::Ask(question) => {
                if question.route.asking {
                    out.extend_from_slice(wire::ASKING);
                }
                out.extend_from_slice(question.command.bytes());
                true
            }
            Self::Asking => {
                out.extend_from_slice(wire::ASKING);
                true
            }
        }
    }

    /// Hands the reply of this server, which had arrived by `now`, to the asker.
    pub(crate) fn reply(self, reply: Reply, server: Option<SocketAddr>, now: Time) -> Done {
        match self {
            Self::Lock(job) => job.reply(reply, server, now),
            Self::Ask(question) => {
                question.put(reply.into());
                Done::Kept
            }
            // If the node may not be asked, it says so to the command behind.
            Self::Asking => Done::Kept,
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
            Self::Asking => Done::Kept,
        }
    }
}

impl LockJob {
    /// Whether it is a delete that is given up; its asker is told.
    pub(super) fn is_given_up(&self) -> bool {
        let is_given_up = self.command == Command::Delete && self.deaths >= MOST_DEATHS;
        if is_given_up {
            self.asker.on_given_up();
        }
        is_given_up
    }

    fn write(&self, out: &mut Vec<u8>, native: Option<Native>, now: Time) -> bool {
        if !self.asker.on_written(self.node, self.command, now) {
            if self.route.redirections > 0 || self.command == Command::Extend {
                // The node that sent it on did not run it, and its asker has not been told that; or somebody waits for the extension.
                self.report(Answer::Never, None, None, now);
            }
            return false;
        }
        if self.route.asking {
            out.extend_from_slice(wire::ASKING);
        }
        let wire = self.asker.wire();
        match (self.command, native) {
            (Command::Set, _) => wire.set(out),
            (Command::Extend, _) => wire.extend(out, self.spelled_out, self.ttl),
            // The native commands can't publish.
            (Command::Delete, Some(native)) if !self.announce && !self.spelled_out => wire.delete_natively(out, native),
            (Command::Delete, _) => {
                let script = if self.announce { &RELEASE } else { &DELETE };
                wire.delete(out, script, self.spelled_out);
            }
        }
        true
    }

    /// Hands the reply of this server, which had arrived by `now`, to the asker.
    pub(super) fn reply(mut self, reply: Reply, server: Option<SocketAddr>, now: Time) -> Done {
        let (answer, cause) = match (self.command, reply) {
            (Command::Set, Reply::Ok) => (Answer::Yes, None),
            (Command::Set, Reply::Nil) => (Answer::No, None),
            (Command::Extend | Command::Delete, Reply::Int(number)) => {
                if self.announce && number > 0 {
                    let subscribers = usize::try_from(number - 1).unwrap_or(0);
                    self.asker.on_release_delivered(self.node, subscribers);
                }
                (if number > 0 { Answer::Yes } else { Answer::No }, None)
            }
            (Command::Extend | Command::Delete, Reply::Error(text)) if !self.spelled_out && is_not_known(&text) => {
                self.spelled_out = true;
                return Done::Again(self);
            }
            (Command::Extend | Command::Delete, Reply::Error(text)) if is_another_type(&text) => (Answer::No, None),
            (_, reply) => {
                let cause = reply.cause();
                (answer_for(&cause), Some(cause))
            }
        };
        self.done(answer, cause, server, now)
    }

    fn fail(self, cause: Cause, now: Time) -> Done {
        self.done(answer_for(&cause), Some(cause), None, now)
    }

    /// The node has run it, but its replicas have not confirmed it, so it is no vote.
    pub(super) fn unconfirmed(self, cause: Cause, now: Time) -> Done {
        self.done(Answer::Unconfirmed, Some(cause), None, now)
    }

    /// Tells the asker. Returns whether its attempt is finished on the node.
    fn report(&self, answer: Answer, cause: Option<Cause>, server: Option<SocketAddr>, now: Time) -> bool {
        let report = Report {
            command: self.command,
            asked: self.asked,
            ttl: self.ttl,
            answer,
            cause,
            server,
        };
        self.asker.on_answer(self.node, report, now)
    }

    fn done(self, answer: Answer, cause: Option<Cause>, server: Option<SocketAddr>, now: Time) -> Done {
        match self.command {
            _ if self.report(answer, cause, server, now) => Done::Finished,
            Command::Delete => Done::Owed(self),
            Command::Set | Command::Extend => Done::Kept,
        }
    }
}

/// What is known of a command that was not answered, for this cause.
fn answer_for(cause: &Cause) -> Answer {
    if cause.may_have_voted() {
        Answer::Unknown
    } else {
        Answer::Never
    }
}

/// Whether the error says that the key is no longer a string, because somebody else has replaced it. Servers before Redis 7
/// put this after the words that the script failed.
fn is_another_type(error: &str) -> bool {
    error.contains("WRONGTYPE")
}

/// Whether the error says that the node does not know the script, or that the user may not run the native command.
fn is_not_known(error: &str) -> bool {
    ["NOSCRIPT", "NOPERM", "ERR unknown command"]
        .iter()
        .any(|code| error.starts_with(code))
}
