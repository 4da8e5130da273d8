use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a client did with its lock that breaks it, or may break that of another one, as a program reported it. Times are nanoseconds by its
/// clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "misuse", rename_all = "snake_case")]
pub enum Misuse {
    /// The client worked without a reason to rely on its lock.
    Late {
        /// The lock.
        key: String,
        /// The client.
        client: String,
        /// What it did.
        work: LateWork,
        /// When it wrote, or left its section; if it has not left, when it entered.
        at_ns: i64,
        /// How long after the end of its reason to rely on the lock, if it had one.
        late_ns: Option<i64>,
    },
    /// The client got a lock with the token of another client.
    SharedToken {
        /// The lock.
        key: String,
        /// The client.
        client: String,
        /// When it got the lock.
        at_ns: i64,
        /// The client that had the token before.
        before: String,
    },
    /// The client got a fence that had been handed out before.
    FenceRepeated {
        /// The lock.
        key: String,
        /// The client.
        client: String,
        /// When it got the lock.
        at_ns: i64,
        /// The fence.
        fence: u64,
    },
    /// The client got a fence that is not above one that was handed out before.
    FenceFallen {
        /// The lock.
        key: String,
        /// The client.
        client: String,
        /// When it got the lock.
        at_ns: i64,
        /// The fence.
        fence: u64,
        /// The highest one before.
        highest: u64,
    },
}

/// What a client did without a reason to rely on its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LateWork {
    /// A write.
    Write,
    /// A part of a section.
    Section,
}
