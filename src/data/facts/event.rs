use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caveat::{Caveat, Turn};
use super::effect::{ArmConsequence, NoEffect, Unavailable};
use super::lacking::Lacking;
use crate::metrics::Entry;
use crate::model::{Action, HostId, OrderId, Proof, Target, in_us};
use crate::scenario::Persistence;

/// Something that happened during a run, for the event log, the time axis and the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its number, from 0 in the order of `at`. An event keeps its number when its effect is added.
    pub id: u64,
    /// When it happened, since the measured part of the run began; negative before that (set-up and warm-up).
    #[serde(rename = "at_us", with = "in_us")]
    #[schemars(with = "i64")]
    pub at: f64,
    /// The kind of the event, with its data.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// When it took effect: of a fault since when it is in effect, or when it was ordered, as long as that is not proved.
    pub const fn came_true_at(&self) -> f64 {
        match self.kind {
            EventKind::Fault {
                effect_at: Some(at), ..
            } => at,
            _ => self.at,
        }
    }
}

/// The kinds of event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// The run took a step.
    Phase {
        /// The step.
        #[serde(flatten)]
        step: Step,
    },
    /// A fault was ordered at `at`, by a key or the scenario.
    Fault {
        /// The action.
        action: Action,
        /// Its target.
        target: Target,
        /// The order that it carries out; null if the scenario ordered it.
        order: Option<OrderId>,
        /// Who ordered it.
        by: OrderedBy,
        /// The number of the event of the fault that it ends; null if it begins a fault, or if no event has that fault.
        ends: Option<u64>,
        /// Since when it is in effect; null while that is not proved, or if it failed.
        #[serde(rename = "effect_at_us", with = "in_us")]
        #[schemars(with = "Option<i64>")]
        effect_at: Option<f64>,
        /// How the effect was proved, by whom and when: what only time shows is proved later than it begins.
        proof: Vec<Proof<f64>>,
        /// What a host that came back keeps over a restart; null for other events.
        returned_with: Option<Persistence>,
        /// What it meant for the held locks of the arms.
        consequences: Vec<ArmConsequence>,
        /// The arms whose locks can't be acquired since then.
        unavailable: Vec<Unavailable>,
        /// Why there is no effect, or none yet.
        error: Option<NoEffect>,
    },
    /// The nodes are used through a proxy.
    Proxy {
        /// How much it adds to a round trip, in microseconds.
        adds_us: u64,
    },
    /// A replicated node became the master, or a replica of the cluster became the master of slots.
    Failover {
        /// Its host.
        host: HostId,
        /// How many masters of the cluster are on this host now; null for replicated nodes.
        cluster_masters: Option<usize>,
        /// What it meant for the held locks of the arms.
        consequences: Vec<ArmConsequence>,
    },
    /// A replicated node that called itself the master follows another one now, and refuses writes.
    Demoted {
        /// Its host.
        host: HostId,
    },
    /// Another member of etcd was elected as the leader.
    Leader {
        /// Its host.
        host: HostId,
    },
    /// The cluster has lost masters that take writes, or has got them back.
    Cluster {
        /// For how many of the 16,384 slots a master takes writes now.
        slots: u16,
    },
    /// The user turned a knob.
    Knob {
        /// How.
        #[serde(flatten)]
        turn: Turn,
    },
    /// The first time that a client held a lock of an arm while another holder had reason to rely on it.
    DoubleHold {
        /// The name of the arm.
        arm: String,
        /// When, in microseconds of the measured part. The event is when it was found.
        began_us: i64,
        /// The names of the two holders, the earlier one first.
        holders: [String; 2],
        /// The key of the lock.
        key: String,
    },
    /// Proven damage in an arm.
    Damage {
        /// The name of the arm.
        arm: String,
        /// What was damaged: the number of the ledger in which it shows.
        damage: Entry,
        /// The product of which most units too many were sold, if that is the damage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        product: Option<usize>,
        /// How many units of it too many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        units: Option<u64>,
        /// Whether a section that this machine stalled until its lock had expired may have done it.
        by_stall: bool,
    },
    /// The lock of an arm was refused because nodes are missing, or is acquired again.
    Lock {
        /// The name of the arm.
        arm: String,
        /// Which of the two.
        #[serde(flatten)]
        change: LockChange,
    },
    /// The scenario says what to look at.
    Caption {
        /// The number of the fault that it belongs to, from 1; null if it is about a key, or about what keeps the next fault from happening.
        fault: Option<usize>,
        /// The caption.
        quoted: String,
    },
    /// Something that a reader of the figures should know.
    Warning {
        /// What.
        caveat: Caveat,
    },
}

impl EventKind {
    /// A fault of which no more is known than who ordered it and since when it is in effect.
    pub const fn fault(action: Action, target: Target, by: OrderedBy, effect_at: Option<f64>) -> Self {
        Self::Fault {
            action,
            target,
            order: None,
            by,
            ends: None,
            effect_at,
            proof: Vec::new(),
            returned_with: None,
            consequences: Vec::new(),
            unavailable: Vec::new(),
            error: None,
        }
    }
}

/// The steps of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The warm-up begins, which is not counted.
    WarmUp,
    /// The measured part begins.
    MeasureBegins,
    /// No further request begins.
    LoadEnded,
    /// Requests are still under way, and some of them end.
    WaitsForRequests {
        /// For how many seconds the run waits at most.
        at_most_s: u64,
    },
    /// Each lock is tried once.
    TriesLocks {
        /// For how many seconds at most.
        at_most_s: u64,
    },
    /// An arm has sold all its stock.
    SoldOut {
        /// The name of the arm.
        arm: String,
    },
    /// The schedule of faults is held.
    ScheduleHeld,
    /// The schedule of faults runs again.
    ScheduleResumed,
    /// The run was stopped before its end.
    Stopped,
    /// The run has ended.
    Finished,
}

/// Who ordered a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrderedBy {
    /// The user, by a key or by a command to a standing lab.
    User,
    /// A bounce that the user ordered: the kill of its host, or the restart after it.
    Bounce,
    /// The scenario: the fault of this number, from 1.
    Fault(usize),
    /// The scenario: the end of the fault of this number.
    EndOfFault(usize),
}

/// How it stands with the lock of an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum LockChange {
    /// No acquire succeeded for a second.
    AllRefused {
        /// The nodes that the last acquire lacked, if that is known.
        lacking: Option<Lacking>,
    },
    /// Locks are acquired again.
    AcquiredAgain,
}
