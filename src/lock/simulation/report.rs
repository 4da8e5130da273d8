use std::{fmt, time::Duration};

use crate::protocol::{Command, Decision};

/// What happened in a world.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The true time until which it was played.
    pub time: Duration,
    /// Things that happened.
    pub events: u64,
    /// Acquires that ended, by whatever way, with their releases.
    pub cycles: u64,
    /// Attempts, by how they ended.
    pub attempts: Attempts,
    /// Commands that were written, by kind.
    pub commands: Commands,
    /// Locks that were signalled as lost while they were held.
    pub losses: u64,
    /// Locks that somebody got after a holder whose validity had ended without a release.
    pub takeovers: u64,
    /// Locks of two holders at a time, each of which is what nodes that forgot their keys explain.
    pub overlaps: u64,
    /// Keys of held locks that nodes extended.
    pub extensions: u64,
    /// Keys that nodes gave again to locks which had lost them.
    pub repairs: u64,
    /// Votes that came when the lock was held already.
    pub late_votes: u64,
    /// Commands that were withdrawn before they were written.
    pub withdrawn: u64,
    /// Attempts that took some of the nodes and not enough, though enough answered.
    pub splits: u64,
    /// Permits that passed on to a worker behind in the line of its app server.
    pub permits_passed_on: u64,
    /// Releases that an app server which waited heard of from enough nodes.
    pub heard: u64,
    /// Nodes that were found to owe answers for too long.
    pub suspicions: u64,
    /// Deletes that were owed when a connection broke, and were sent on the next one.
    pub owed: u64,
    /// Acquires and guards that were dropped before they were over.
    pub given_up: u64,
    /// What broke.
    pub faults: FaultCounts,
    /// What must not happen and did, the first hundred of it.
    pub violations: Vec<Violation>,
    /// Tells one course of events from another.
    pub fingerprint: u64,
}

/// Attempts, by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attempts {
    /// The lock was had.
    pub granted: u64,
    /// Somebody else had it.
    pub contended: u64,
    /// Too few nodes could be asked.
    pub no_quorum: u64,
    /// Too few nodes answered in time.
    pub unknown: u64,
    /// Enough votes came, too late.
    pub expired: u64,
    /// The caller went away meanwhile.
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
    /// Votes asked for, repaired ones included.
    pub set: u64,
    /// Extensions asked for.
    pub extend: u64,
    /// Keys taken back or released.
    pub delete: u64,
    /// Questions how long a key is still there, and what app servers that wait tell each other.
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
    /// Commands that a node ran though their connection was gone.
    pub strays: u64,
}

/// A law of the lock, which the world looks after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// No two believe to hold a lock at a time, as long as no node has forgotten a key.
    Overlap,
    /// Where nodes have forgotten keys, two believe it only if the first has lost as many as that takes: of its votes, all but
    /// those that a second one can do without, which are N less a quorum.
    DoubleHold,
    /// Whoever believes to hold a lock has its key on a quorum of nodes until the end of its validity, counting those keys that
    /// nodes have forgotten; and on a quorum of those that have not said that they have not.
    Support,
    /// A lock whose validity was over once, or whose loss was signalled, is not relied on again.
    Revival,
    /// An extension never creates a key.
    Creation,
    /// A vote is counted only of a node that gave it, and once.
    Vote,
    /// The loss of a lock is signalled before its validity ends, and so before somebody else has it. An app server that was
    /// frozen then signals it before anything else happens to the holder.
    Signal,
    /// When all is healed and quiet, no key of an attempt that has ended, delete, line, timer or subscription is left.
    Leftover,
    /// Every link has as many attempts as may have something on its node, none twice.
    Room,
    /// When all is healed, every lock can be had again in time.
    Availability,
    /// A node that owes answers for too long is asked for nothing but deletes.
    Suspect,
    /// Whatever an attempt may have taken is taken back on the same connection, or the next one if that broke.
    Undo,
    /// Of those of an app server who wait in line for a key only the one asks who has the permit, and nobody waits in a line that
    /// has ended.
    Permit,
    /// Only the release of a lock that was held is announced.
    Announcement,
}

/// Something that must not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which law it broke.
    pub check: Check,
    /// The true time.
    pub at: Duration,
    /// The position of the key, if it is about one.
    pub key: Option<usize>,
    /// The app server, by its position, if it is about one.
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
