use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::{Action, Proof, Target};
use super::id::{HostId, OrderId};
use super::in_us;

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
    pub kind: EventKind,
    /// One line for people.
    pub text: String,
}

impl Event {
    /// When it came true: of a fault since when it is in effect, or when it was ordered, as long as that is not proved.
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
    /// The run entered another phase.
    Phase,
    /// A fault was ordered at `at`, by a key or the scenario.
    Fault {
        /// The action.
        action: Action,
        /// Its target.
        target: Target,
        /// The order that it carries out; null if the scenario ordered it.
        order: Option<OrderId>,
        /// The number of the event of the fault that it ends; null if it is a fault, or ends what nobody ordered.
        ends: Option<u64>,
        /// Since when it is in effect; null while that is not proved, or if it failed.
        #[serde(rename = "effect_at_us", with = "in_us")]
        #[schemars(with = "Option<i64>")]
        effect_at: Option<f64>,
        /// How the effect was proved, by whom and when: what only time shows is proved later than it begins.
        proof: Vec<Proof<f64>>,
        /// Why the effect could not be verified.
        error: Option<String>,
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
    },
    /// A replicated node that called itself the master follows another one now, and refuses writes.
    Demoted {
        /// Its host.
        host: HostId,
    },
    /// The cluster has lost masters that take writes, or has got them back.
    Cluster {
        /// For how many of the 16,384 slots a master takes writes now.
        slots: u16,
    },
    /// Somebody turned a knob.
    Knob,
    /// The first time that somebody came to hold a lock of an arm while another holder had reason to rely on it.
    DoubleHold {
        /// The name of the arm.
        arm: String,
    },
    /// Proven damage in an arm: units sold twice or beyond the stock.
    Damage {
        /// The name of the arm.
        arm: String,
    },
    /// The lock of an arm was refused because nodes are missing, or is granted again.
    Lock {
        /// The name of the arm.
        arm: String,
    },
    /// The scenario says what to look at.
    Caption,
    /// Something that a reader of the figures should know.
    Warning,
}
