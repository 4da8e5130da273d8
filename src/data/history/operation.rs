use serde::{Deserialize, Serialize};

use super::holder::Holder;
use crate::model::is_zero;

/// The first line of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Of the format, which other programs read: [`Head::FORMAT`].
    pub history: u32,
    /// The version of lockstorm that wrote it.
    pub lockstorm: String,
    /// What all times are: nanoseconds of this clock of the machine.
    pub clock: String,
    /// The names of the arms.
    pub arms: Vec<String>,
    /// How many units of each product there were at the start; left out if nothing is sold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock: Option<u64>,
    /// The names of clients that a program has reported: the first one is app server 1, and each of its locks a worker. Left out of
    /// runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// What a program has reported besides holds that is broken: late writes, sections that overran, tokens and fences that came twice.
    /// Left out if that is nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damage: u64,
    /// Why what a program has reported shows nothing good; left out if it does, and of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// A line of a history, after the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Line {
    /// What a client did.
    Operation(Operation),
    /// What was broken.
    Fault(Fault),
}

/// What a client did. Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Operation {
    /// It asked for a lock.
    Acquire(Acquire),
    /// It gave a lock back.
    Release(Release),
    /// It sold a unit.
    Sale(Sale),
}

/// What a client knows of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was done.
    Ok,
    /// It was not done, since somebody else has the lock.
    Busy,
    /// Nobody knows whether it was done.
    Unknown,
}

/// A worker asks for a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acquire {
    /// Who.
    pub client: Holder,
    /// The arm.
    pub arm: String,
    /// The key of the lock.
    pub key: String,
    /// When it was asked for.
    pub call: i64,
    /// When the reply was there: the holder's belief begins.
    #[serde(rename = "return")]
    pub returned: i64,
    /// What became of it.
    pub result: Answer,
    /// The value of the keys; empty and left out for a lock that is on no nodes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// The number that fences its holder; left out if the lock hands none out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// The end of the validity that was handed out; left out if it has none, or there is no lock. A lock that ends no later than
    /// `return` was never to be relied on: an arm without a lock has only such ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// Whether its request belongs to the warm-up; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm_up: bool,
}

/// The same worker gives it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Who.
    pub client: Holder,
    /// The arm.
    pub arm: String,
    /// The key of the lock.
    pub key: String,
    /// The end of the holder's belief, which is not before `return` of the acquire: the earliest of `left`, the end of the validity,
    /// and the loss that the lock signalled.
    pub call: i64,
    /// When the reply was there; if none came, a time at which the key is gone in any case.
    #[serde(rename = "return")]
    pub returned: i64,
    /// What became of it.
    pub result: Answer,
    /// The value of the keys; empty and left out for a lock that is on no nodes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// When its section ended; of an app server that was killed, when that was.
    pub left: i64,
}

/// A row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sale {
    /// Who.
    pub client: Holder,
    /// The arm.
    pub arm: String,
    /// The number of the product, from 0.
    pub product: u64,
    /// The number of the row: larger for each in the order of the writes.
    pub order: i64,
    /// How many units the buyer read.
    pub read: u64,
    /// How many it wrote back.
    pub written: u64,
    /// When, within its section; to the microsecond.
    pub at: i64,
}

/// Something was broken, or mended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What, and on what.
    pub fault: String,
    /// When it took effect.
    pub at: i64,
}

impl Head {
    /// The format that this lockstorm writes and reads.
    pub const FORMAT: u32 = 1;
    /// The clock of all times.
    pub const CLOCK: &str = "CLOCK_MONOTONIC, ns";
    /// The clock of all times that a program has reported.
    pub const REPORTED_CLOCK: &str = "ns of the clock of whoever reported";

    /// Whether a program has reported what is in the history.
    pub fn is_reported(&self) -> bool {
        self.clock == Self::REPORTED_CLOCK
    }
}
