use std::fmt;
use std::time::Duration;

use crate::protocol::{Command, Decision};

/// What happened in a world.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The true time up to which the world has run.
    pub time: Duration,
    /// The number of events that happened.
    pub events: u64,
    /// Acquires that ended in any way, with their releases.
    pub cycles: u64,
    /// Sections that had work and ended with a release.
    pub sections: u64,
    /// Of these, the ones that went on after the validity of their lock had ended.
    pub overran: u64,
    /// Acquires that ended without the lock, those aside that were dropped.
    pub refused: u64,
    /// Attempts, by how they ended.
    pub attempts: Attempts,
    /// Commands that were written, by kind.
    pub commands: Commands,
    /// Locks that were signalled as lost while they were held.
    pub losses: u64,
    /// Locks that were acquired after a holder's validity had ended without a release.
    pub takeovers: u64,
    /// Locks with two holders at the same time, all explained by nodes that forgot keys.
    pub overlaps: u64,
    /// Keys of held locks that nodes extended.
    pub extensions: u64,
    /// Keys of held locks that nodes had lost and set again.
    pub repairs: u64,
    /// Votes that came when the lock was already held.
    pub late_votes: u64,
    /// Commands that were withdrawn before they were written.
    pub withdrawn: u64,
    /// Contended attempts that got some of the nodes but not enough.
    pub splits: u64,
    /// Permits that passed to the next worker in the line of an app server.
    pub permits_passed_on: u64,
    /// Releases that enough nodes announced to an app server that waited.
    pub heard: u64,
    /// How often a node was found to owe answers for too long.
    pub suspicions: u64,
    /// Votes that were not asked for, since too many commands were ahead.
    pub overloads: u64,
    /// Deletes that were owed when a connection broke, and were sent on the next one.
    pub owed: u64,
    /// Acquires and guards that were dropped early.
    pub given_up: u64,
    /// What broke.
    pub faults: FaultCounts,
    /// The first hundred violations of the laws.
    pub violations: Vec<Violation>,
    /// A hash of the course of events, to compare two runs.
    pub fingerprint: u64,
}

/// Attempts, by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attempts {
    /// The lock was granted.
    pub granted: u64,
    /// Somebody else had it.
    pub contended: u64,
    /// Too few nodes could be asked.
    pub no_quorum: u64,
    /// Too few nodes answered in time.
    pub unknown: u64,
    /// Enough votes came, but too late.
    pub expired: u64,
    /// The caller gave up during the attempt.
    pub dropped: u64,
}

impl Attempts {
    pub(super) const fn count(&mut self, decision: Decision) {
        *match decision {
            Decision::Granted => &mut self.granted,
            Decision::Contended => &mut self.contended,
            Decision::NoQuorum => &mut self.no_quorum,
            Decision::Unknown => &mut self.unknown,
            Decision::Expired => &mut self.expired,
        } += 1;
    }

    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.granted + self.contended + self.no_quorum + self.unknown + self.expired + self.dropped
    }
}

/// Commands that were written, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Commands {
    /// Votes asked for, repairs included.
    pub set: u64,
    /// Extensions asked for.
    pub extend: u64,
    /// Keys taken back or released.
    pub delete: u64,
    /// Questions about how long a key will still exist, and announcements of app servers that wait.
    pub question: u64,
}

impl Commands {
    pub(super) const fn count(&mut self, command: Option<Command>) {
        *match command {
            Some(Command::Set) => &mut self.set,
            Some(Command::Extend) => &mut self.extend,
            Some(Command::Delete) => &mut self.delete,
            None => &mut self.question,
        } += 1;
    }
}

/// What broke.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Nodes that stopped for a while.
    pub pauses: u64,
    /// Nodes that died and kept their keys.
    pub crashes: u64,
    /// Nodes that died and forgot their keys.
    pub forgets: u64,
    /// Connections that broke.
    pub cuts: u64,
    /// App servers that stopped for a while.
    pub freezes: u64,
    /// App servers that died.
    pub kills: u64,
    /// Clocks of nodes that jumped forward.
    pub jumps: u64,
    /// Commands that a node ran although their connection was gone.
    pub strays: u64,
}

/// A law of the lock, which the world checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// No two holders believe that they hold a lock at the same time, as long as no node has forgotten a key, and no node's clock
    /// has jumped forward, which to the node's keys is the same.
    Overlap,
    /// If nodes have forgotten keys, two holders may believe so only if the first one has lost enough of its votes: all but
    /// as many as a second holder can do without, which is the number of nodes less a quorum.
    DoubleHold,
    /// A holder that believes that it holds a lock has its key on a quorum of nodes until the end of its validity, counting
    /// keys that nodes have forgotten; and a quorum of nodes has answered that they have the key, and not since that it is
    /// gone.
    Support,
    /// A lock is not valid again once its validity has ended or its loss was signalled.
    Revival,
    /// An extension never creates a key.
    Creation,
    /// A vote counts only if its node gave it, and only once.
    Vote,
    /// The loss of a lock is signalled before its validity ends, and so before somebody else gets the lock. An app server
    /// that was frozen at that time signals it, once it goes on, before anything else happens to the holder.
    Signal,
    /// When all is healed and quiet, nothing is left over: no key, attempt, delete, line, timer or subscription.
    Leftover,
    /// Every link counts the attempts that may have a key on its node, each once.
    Room,
    /// When all is healed, every lock can be acquired again in time.
    Availability,
    /// A node that owes answers for too long is sent nothing but deletes.
    Suspect,
    /// No more commands are under way on a connection than are allowed.
    Window,
    /// Nobody is turned away because of commands ahead if none wait.
    Overload,
    /// Every key that an attempt may have set is deleted on the same connection, or on the next one if that broke.
    Undo,
    /// Of an app server's callers in line for a key, only the one whose turn it is asks. Its turn does not end before the time by
    /// which it promised to act, nor long after that while others wait. It leaves the line if
    /// its votes came when no validity was left.
    Permit,
    /// A lock is extended only if that can put off the end of its validity, and only so often if it does not.
    Renewal,
    /// Only the release of a lock that was held is announced; and an app server that announced that it waits says when it does
    /// not any more.
    Announcement,
    /// A caller is told the refusal of its last attempt; or of the last that was complete, if its deadline cut the last one short.
    Refusal,
}

/// Something that happened against a law.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The law that was broken.
    pub check: Check,
    /// The true time of the violation.
    pub at: Duration,
    /// The position of the key, if a key is concerned.
    pub key: Option<usize>,
    /// The position of the app server, if one is concerned.
    pub app_server: Option<usize>,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.check, self.at)?;
        if let Some(app) = self.app_server {
            write!(f, ", app server {app}")?;
        }
        if let Some(key) = self.key {
            write!(f, ", key {key}")?;
        }
        write!(f, ": {}", self.what)
    }
}
