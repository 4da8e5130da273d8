use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::effect::{ArmConsequence, NoEffect, Unavailable};
use super::lacking::Lacking;
use super::misuse::Misuse;
use crate::metrics::Metric;
use crate::model::{HostId, Seat, ServerId, in_us};
use crate::scenario::Op;

/// What limits the conclusions from a run, or makes them worthless, and what a reader of its figures should know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "caveat", rename_all = "snake_case")]
pub enum Caveat {
    // This machine and this program.
    /// The machine's wall clock stepped.
    ClockStepped {
        /// By how many milliseconds; negative if it was set back.
        by_ms: i64,
    },
    /// A signal stopped this program for a while.
    ProgramStopped {
        /// For how long.
        #[serde(rename = "for_us", with = "in_us")]
        #[schemars(with = "u64")]
        time: Duration,
        /// Whether that is long enough for locks to expire.
        is_long: bool,
    },
    /// The engine of the run got no processor time.
    RunStalled {
        /// For how long.
        #[serde(rename = "for_us", with = "in_us")]
        #[schemars(with = "u64")]
        time: Duration,
    },
    /// App servers waited too long for processor time.
    MachineBusy {
        /// For how much of the time, in percent.
        percent: u64,
    },
    /// Other programs used much of this machine's processor time.
    MachineShared {
        /// How much of all there was, in percent.
        percent: u64,
    },
    /// The disk of the run's directory is nearly full.
    DiskNearlyFull {
        /// How many MiB are left.
        left_mib: u64,
    },
    /// The first section of an arm was stalled until its lock had expired.
    SectionStalled {
        /// The name of the arm.
        arm: String,
    },
    /// Stalled sections may explain all damage of a kind.
    DamageByStalls {
        /// The name of the arm.
        arm: String,
        /// How many sections were stalled until their lock had expired.
        sections: u64,
        /// The figure.
        figure: Metric,
        /// How much of it they may explain.
        up_to: u64,
        /// Whether a signal had stopped this program; otherwise the machine stalled them.
        is_stopped: bool,
    },

    // The lab.
    /// A process of the lab changed without an order.
    NodeChanged {
        /// The node.
        node: String,
        /// The change.
        #[serde(flatten)]
        change: NodeChange,
        /// The arms whose locks can't be acquired since then.
        unavailable: Vec<Unavailable>,
        /// Whether it is the cache node, and may have lost what it had.
        #[serde(default)]
        loses_cache: bool,
    },
    /// A node listens on another port, since another process has taken its own.
    PortTaken {
        /// The node.
        node: String,
        /// Its port before.
        before: u16,
        /// Its port now.
        now: u16,
    },
    /// A signal from outside stopped the process that watches the lab.
    KeeperStopped,
    /// It was resumed.
    KeeperResumed,
    /// It is gone, and the cache node with it.
    KeeperGone {
        /// How it ended.
        quoted: String,
        /// Whether all hosts are gone with it, since they are ours.
        with_hosts: bool,
    },
    /// Different nodes had different keys of one lock while two held it, and no node had lost a key.
    DifferentNodes {
        /// The name of the arm.
        arm: String,
    },
    /// A second node says that it is the master.
    TwoMasters {
        /// Its host.
        host: HostId,
        /// The hosts of the others.
        others: Vec<HostId>,
    },
    /// A new master did not answer which locks it has.
    NewMasterSilent {
        /// The name of the arm.
        arm: String,
        /// The node.
        node: String,
    },
    /// A node that took over slots of the cluster lacks keys of held locks.
    ClusterMasterLacks {
        /// What that means.
        #[serde(flatten)]
        lost: ArmConsequence,
    },
    /// All keys of a node were deleted from outside.
    KeysDeleted {
        /// The node.
        node: String,
    },
    /// A command by hand wrote to a node.
    ManualWrite {
        /// The node.
        node: String,
        /// The command, without its arguments.
        command: String,
        /// How often it was sent in a row, 1 or more.
        times: usize,
        /// How many keys it named; null if that is not known.
        keys: Option<usize>,
        /// Whether the node has answered.
        is_answered: bool,
    },
    /// A line of a lab's log that tells of no fault.
    LabLog {
        /// The line.
        quoted: String,
    },
    /// No quorum at the end, since hosts went down without an order.
    NoQuorumAtEnd {
        /// The name of the arm.
        arm: String,
        /// The hosts.
        hosts: Vec<HostId>,
    },
    /// No lock could be acquired after the load.
    NoLockAtEnd {
        /// The name of the arm.
        arm: String,
        /// What was lacking.
        lacking: Lacking,
    },
    /// Keys that are left on a node of others can't be removed.
    KeysStay {
        /// The node.
        node: String,
        /// Why.
        quoted: String,
    },
    /// Keys may be left on a node of others.
    KeysLeft {
        /// The node.
        node: String,
        /// Why.
        quoted: String,
    },

    // Databases and requests.
    /// The database of an arm was lost in mid-run.
    DatabaseLost {
        /// The name of the arm.
        arm: String,
        /// The error.
        quoted: String,
    },
    /// The ledger of an arm can't be read.
    LedgerUnreadable {
        /// The name of the arm.
        arm: String,
        /// The error.
        quoted: String,
    },
    /// The ledger of an arm is not answered for.
    LedgerSilent {
        /// The name of the arm.
        arm: String,
        /// Where the ledger is.
        ledger: Ledger,
        /// For how many seconds so far.
        for_s: u64,
    },
    /// It is again.
    LedgerAnswers {
        /// The name of the arm.
        arm: String,
        /// Where the ledger is.
        ledger: Ledger,
    },
    /// A schema may be left in the database.
    SchemaLeft {
        /// The error; null if the database did not answer in time.
        quoted: Option<String>,
    },
    /// The first request of an arm failed.
    RequestFails {
        /// The name of the arm.
        arm: String,
        /// Its error.
        quoted: String,
    },
    /// Requests of an arm failed.
    RequestsFailed {
        /// The name of the arm.
        arm: String,
        /// How many.
        failed: u64,
        /// Of how many that have ended.
        of: u64,
        /// The first error.
        quoted: Option<String>,
    },
    /// More than 1 % of an arm's requests found no free worker, or still waited at the end of the run.
    RateNotKept {
        /// The name of the arm.
        arm: String,
        /// How many requests were never begun.
        never_begun: u64,
        /// How many still waited at the end of the run.
        waiting: u64,
        /// How many were due.
        offered: u64,
        /// How many have ended.
        ended: u64,
    },
    /// Requests began much later than they were due.
    LateStarts {
        /// The 99th percentile of the worst arm, in microseconds.
        p99_us: u64,
        /// Whether a signal had stopped this program meanwhile.
        is_stopped: bool,
    },
    /// Requests were given up without an answer.
    Unanswered {
        /// The name of the arm.
        arm: String,
        /// How many.
        requests: u64,
        /// Why.
        #[serde(flatten)]
        why: GivenUp,
    },
    /// The thread of an app server did not end.
    ServerHangs {
        /// The app server.
        server: ServerId,
    },
    /// The stock of these arms did not sell out, which hides overselling.
    Unsold {
        /// The names of the arms.
        arms: Vec<String>,
    },

    // Clients of other programs.
    /// A client broke its protocol, or has ended.
    Client {
        /// The name of the arm.
        arm: String,
        /// Its app server.
        server: ServerId,
        /// What it did.
        #[serde(flatten)]
        fault: ClientFault,
    },
    /// A client ended an order with an error, which is its right.
    ClientError {
        /// The name of the arm.
        arm: String,
        /// Its app server.
        server: ServerId,
        /// The order.
        to: Order,
        /// The error.
        quoted: String,
    },
    /// A late release has most likely removed the key of the next holder.
    LateRelease {
        /// The name of the arm.
        arm: String,
        /// The name of the client.
        client: String,
        /// When it released, in microseconds of the measured part.
        at_us: i64,
    },

    // The scenario.
    /// A fault of the scenario has not taken effect.
    FaultUnmet {
        /// Its number, from 1.
        fault: usize,
        /// Why.
        #[serde(flatten)]
        why: Unmet,
    },
    /// No fault tested a lock.
    Untested,
    /// The run was stopped before its end.
    StoppedEarly,
    /// The schedule was held.
    ScheduleHeld {
        /// How many seconds the load lasted.
        lasted_s: u64,
        /// How many seconds it was to last.
        planned_s: u64,
    },
    /// Knobs were turned.
    Turned {
        /// The last turns, the newest last.
        last: Vec<TimedTurn>,
        /// How many turns there were.
        all: usize,
        /// Whether a knob was turned twice or more.
        again: bool,
    },
    /// There were so many faults that the last phase of each arm may consist of several.
    ManyPhases {
        /// The most phases that an arm can have.
        most: usize,
    },

    // The record.
    /// The run was killed before it had made its record.
    Killed {
        /// The second until which its journal goes.
        until_s: u64,
    },

    /// The record has this figure for its end only, so that nothing is known at an earlier moment.
    KnownAtEnd {
        /// The figure.
        figure: Metric,
    },

    // What another program reported.
    /// There was no event.
    NoEvents,
    /// No lock was held for any time.
    NoHolds,
    /// The first event and the last one are more than a year apart.
    MoreThanAYear,
    /// No lock was held by two clients.
    NoSharedLock,
    /// Clients began so long after others had ended that their times may be by another clock.
    OtherClocks {
        /// The last client of the earlier ones.
        before: String,
        /// When its times end, in nanoseconds as they were reported.
        ended_ns: i64,
        /// The first one of the later ones.
        after: String,
        /// When its times begin.
        began_ns: i64,
    },
    /// The end of holds or sections was not reported.
    EndsMissing {
        /// Of how many.
        holds: u64,
    },
    /// Not all events could be read.
    NotAllRead,
    /// A client wrote, or was in a section, without a lock; or a token or a fence was given twice.
    Reported {
        /// Which of these.
        #[serde(flatten)]
        misuse: Misuse,
    },
    /// Which faults there were is not known.
    FaultsUnknown,
    /// None of the faults in the lab's log took effect between the first event and the last one.
    FaultsOutside {
        /// How many entries the log has.
        entries: u64,
    },
}

/// How a process changed that had no order to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum NodeChange {
    /// A signal killed it.
    Killed,
    /// It was shut down.
    ShutDown,
    /// It ended in another way.
    Ended {
        /// How, if that is known.
        quoted: Option<String>,
    },
    /// A signal stopped it.
    Stopped,
    /// Signals stopped it for a moment.
    StoppedBriefly,
    /// Signals resumed it for a moment.
    ResumedBriefly,
    /// A signal resumed it.
    Resumed,
    /// A server of others can't be asked any more.
    Unreachable {
        /// Why, if that is known.
        quoted: Option<String>,
    },
    /// A server of others does not answer any more.
    Silent,
    /// It answers again.
    AnswersAgain,
    /// It is up again.
    IsBack,
    /// It was down for a moment.
    WasDown,
}

/// Where the ledger of an arm is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ledger {
    /// In its database.
    Database,
    /// On the cache node.
    CacheNode,
}

/// Why requests were given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum GivenUp {
    /// The user did not want to wait.
    ToldNotToWait,
    /// They took longer than the run waits.
    TooLong {
        /// How many seconds that is.
        limit_s: u64,
    },
    /// None of them ended for a while.
    NoneEnded {
        /// For how many seconds.
        for_s: u64,
    },
}

/// What a client of another program did wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum ClientFault {
    /// It has not answered an order in time.
    NotAnswered {
        /// The order.
        to: Order,
        /// How long it had been waited for.
        #[serde(rename = "waited_us", with = "in_us")]
        #[schemars(with = "u64")]
        waited: Duration,
        /// How long it had.
        #[serde(rename = "limit_us", with = "in_us")]
        #[schemars(with = "u64")]
        limit: Duration,
    },
    /// It sent what the protocol does not allow, or has ended.
    Failed {
        /// What it sent and the parser's complaint, or how it ended and the end of its log.
        quoted: String,
    },
}

/// The orders to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// To acquire a lock.
    Acquire,
    /// To extend one.
    Extend,
    /// To release one.
    Release,
}

/// Why a fault of the scenario has not taken effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Unmet {
    /// The schedule was held.
    Held,
    /// The load ended before it was due.
    NotDue {
        /// When it was due.
        #[serde(rename = "due_us", with = "in_us")]
        #[schemars(with = "u64")]
        due: Duration,
    },
    /// The fault after which it was to come had no effect.
    WaitedFor {
        /// The number of that fault.
        other: usize,
    },
    /// Each part of its condition held once, but never all of them.
    NeverWhole {
        /// The condition.
        quoted: String,
    },
    /// A part of its condition was never checked.
    NeverChecked {
        /// The arm.
        arm: String,
        /// The figure.
        figure: Metric,
    },
    /// A part of its condition never held.
    NeverHeld {
        /// The arm.
        arm: String,
        /// The figure.
        figure: Metric,
        /// The nearest value.
        best: f64,
        /// The comparison.
        op: Op,
        /// What it was compared with.
        bound: f64,
    },
    /// It was ordered, and not verified before the end.
    NotVerified {
        /// Why, if that is known.
        error: Option<NoEffect>,
    },
    /// It had no effect.
    NoEffect {
        /// Why, if that is known.
        error: Option<NoEffect>,
    },
    /// No node has the role of its target.
    NoTarget {
        /// The role.
        seat: Seat,
    },
}

/// A turn of a knob, and when it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimedTurn {
    /// When, since the measured part of the run began; negative in the warm-up.
    #[serde(rename = "at_us", with = "in_us")]
    #[schemars(with = "i64")]
    pub at: f64,
    /// The turn.
    #[serde(flatten)]
    pub turn: Turn,
}

/// How a knob was turned, for all arms at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "knob", rename_all = "snake_case")]
pub enum Turn {
    /// The TTL of locks.
    Ttl {
        /// The new one.
        #[serde(rename = "ttl_us", with = "in_us")]
        #[schemars(with = "u64")]
        ttl: Duration,
        /// The smallest and the largest before, in microseconds, if arms had TTLs of their own.
        were_us: Option<[u64; 2]>,
    },
    /// The workers of each app server for each arm.
    Workers {
        /// The new number.
        workers: usize,
    },
    /// The requests of each arm.
    Rate {
        /// How many a second.
        rate: f64,
    },
    /// The work inside a lock.
    Hold {
        /// The new median.
        #[serde(rename = "median_us", with = "in_us")]
        #[schemars(with = "u64")]
        median: Duration,
    },
}
