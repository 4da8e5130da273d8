use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::holder::Holder;
use crate::model::printable;

/// Two holders of one lock who both had reason to rely on it at the same time, with what is known of the cause. Times are microseconds
/// since second 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoubleHold {
    /// Its number in its arm, from 1, in the order in which they were found.
    pub number: u64,
    /// The key of the lock.
    pub key: String,
    /// The one that held it before.
    pub first: Belief,
    /// The one that came in.
    pub second: Belief,
    /// How long both had reason to rely on the lock; null if that had not ended.
    pub overlap_us: Option<u64>,
    /// The votes that the first one had lost by then.
    pub lost: Vec<LostVote>,
    /// Whether that explains it; null for a lock without nodes, which has no votes to lose.
    pub ruling: Option<Ruling>,
    /// The release that has most likely removed the first one's key, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_by: Option<Removal>,
}

/// A late release: its holder had come before the first one, released while the first one held the lock, and was answered that a key was
/// removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Removal {
    /// Who released.
    pub holder: Holder,
    /// What another program calls it that has reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When.
    pub at_us: i64,
}

impl Removal {
    /// Who, in words.
    pub fn who(&self) -> String {
        self.name.as_deref().map_or_else(|| self.holder.to_string(), printable)
    }
}

/// One holder's belief that it held a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Belief {
    /// Who.
    pub holder: Holder,
    /// What another program calls it that has reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The value of the keys, by which the nodes tell this holder from others; empty for a lock without nodes.
    pub token: String,
    /// When the attempt began that acquired it; null for a lock without nodes.
    pub asked_us: Option<i64>,
    /// When the belief began: the clock was read after the acquire's reply.
    pub from_us: i64,
    /// When the section ended, before the release was sent; null if it had not.
    pub until_us: Option<i64>,
    /// The end of the validity that the lock handed out, or when it told of its loss; null if it has no end.
    pub relied_until_us: Option<i64>,
    /// The hosts whose nodes voted, by number.
    pub votes: Vec<usize>,
    /// How many nodes were asked.
    pub nodes: usize,
    /// What it sold; null if it sold nothing, or if it let the database count (`update = "atomic"`).
    pub sale: Option<BeliefSale>,
}

impl Belief {
    /// Who, in words.
    pub fn who(&self) -> String {
        self.name.as_deref().map_or_else(|| self.holder.to_string(), printable)
    }
}

/// The order that a holder wrote into the ledger: that of its own name and of this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeliefSale {
    /// When it was written.
    pub at_us: i64,
    /// The units that it left. It had read one more.
    pub left: u64,
}

/// A vote that a lock has lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostVote {
    /// The host of the node that lost it.
    pub host: Option<usize>,
    /// The number of the event that tells of it; null if there is none.
    pub event: Option<u64>,
    /// The host of the node that had become the master without the key, so that the vote counted no more; null if the node itself lost it.
    pub new_master: Option<usize>,
    /// The host of the node that did not know that it was the master no longer, and voted for the second one without the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_master: Option<usize>,
}

/// What the law says of a double hold: a second holder can win only if so many nodes have lost the first one's key that a quorum is left
/// without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// Enough keys were lost.
    Explained,
    /// The first one's TTL, counted from its acquire or its last extension, was over: the lock had ended, and its holder heard nothing of it.
    Expired,
    /// Enough keys were deleted by a command that no lock of this program sends, such as FLUSHALL.
    Deleted,
    /// Keys that nobody could look for would explain it.
    Unknown,
    /// A quorum should have been left that keeps others out: the lock, or a node, is broken.
    Violation,
}
