//! The messages of `lockstorm-client/1`: JSON, one on each line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// What Lockstorm says to a client.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Order {
    /// The first message. The client answers `started` once it can acquire locks.
    Start(Start),
    /// Acquire the lock on `key`. Answered by `held`, `busy`, `outage`, `unknown` or `error`.
    Acquire {
        /// The number of this order, which its answer repeats, and which names the lock from then on.
        id: u64,
        /// The name of the lock.
        key: String,
        /// How long to wait for the lock while somebody else holds it, in milliseconds; 0: try once.
        wait_ms: u64,
    },
    /// Extend a lock by its TTL: for clients that can `extend`, if locks are renewed. Answered by `extended`, `lost`, `unknown` or
    /// `error`.
    Extend {
        /// The number of this order.
        id: u64,
        /// The number of the lock's acquire.
        of: u64,
    },
    /// Release a lock. Answered by `released`, `lost`, `unknown` or `error`.
    Release {
        /// The number of this order.
        id: u64,
        /// The number of the lock's acquire.
        of: u64,
    },
    /// Say what time it is by the clock of `until`. Answered with `t`.
    Clock {
        /// The number of this order.
        id: u64,
    },
    /// The last message: the client may end.
    Stop,
}

/// What a client needs to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Start {
    /// The version of the protocol: 1.
    pub v: u32,
    /// The URLs of the lock nodes; with Sentinels that of the first master only. They contain passwords.
    pub nodes: Vec<String>,
    /// The URLs of the Sentinels; empty without replicated nodes.
    pub sentinels: Vec<String>,
    /// The name of the master that Sentinels are asked for, if there are Sentinels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master: Option<&'static str>,
    /// The URLs of the nodes of a Redis Cluster, if it is what the lock is on; then `nodes` is empty.
    pub cluster: Vec<String>,
    /// The TTL of locks, in milliseconds.
    pub ttl_ms: u64,
    /// Whether locks are to be renewed until they are released.
    pub renew: bool,
    /// How many locks are asked for at the same time at most, at the start.
    pub workers: usize,
}

/// What a client says: `started`, the answer to an order, or an event. Each line has the fields that belong to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Answer {
    /// `started`: the answer to `start`, with `name`, `version`, `language` and `can`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<Op>,
    /// What has happened to the lock `of` without an order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
    /// The number of the order that this answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// What it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<Is>,
    /// The number of the acquire whose lock an event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// Until when the client promises the lock, in nanoseconds of a clock that never steps; left out: it promises nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// The number that fences the holder, if the lock hands one out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// The time by the clock of `until`, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t: Option<i64>,
    /// Of an `error`: what went wrong, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Of an `error`: whether it is certain that nothing was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definite: Option<bool>,
    /// Of `started`: the name of the client's library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Of `started`: the version of the library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Of `started`: the language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Of `started`: on how many of `nodes` its locks are; left out: on all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// Of `started`: what it can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub can: Vec<Can>,
}

/// The first word of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// It can acquire locks.
    Started,
}

/// What happens to a lock without an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The client has found that the lock is lost.
    Lost,
    /// The client has renewed the lock by itself, and promises it until a later time.
    Extended,
}

/// What an order came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Is {
    /// The lock is held.
    Held,
    /// Somebody else holds the lock.
    Busy,
    /// Servers are missing: nobody could acquire the lock now.
    Outage,
    /// Nobody knows whether it was done.
    Unknown,
    /// It failed, for the reason in `text`.
    Error,
    /// The lock was released.
    Released,
    /// The lock was not held any more.
    Lost,
    /// The lock was extended.
    Extended,
}

/// What a client can do besides acquiring and releasing locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Can {
    /// It extends a lock when it is told to. Lockstorm then does so every `renew` of the arm.
    Extend,
    /// It renews locks by itself if `start` asks for that.
    Renew,
    /// It says when it finds that a lock is lost.
    Lost,
    /// It says until when it promises a lock.
    Validity,
    /// It hands out fencing numbers.
    Fence,
}

/// A client that has started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hello {
    /// The name of its library.
    pub name: String,
    /// The version of the library.
    pub version: String,
    /// Its language.
    pub language: String,
    /// On how many nodes its locks are, if it says so.
    pub nodes: Option<usize>,
    /// What it can do.
    pub can: Vec<Can>,
}

/// What a line of a client means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// It has started.
    Started(Hello),
    /// An order came to this.
    Replied(u64, Is, Answer),
    /// The time by its clock.
    Clock(u64, i64),
    /// It has lost the lock of this acquire.
    Lost(u64),
    /// It has renewed the lock of this acquire, until this time by its clock.
    Extended(u64, Option<i64>),
}

impl Heard {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(line: &[u8]) -> Result<Self, Wrong> {
        let answer: Answer = serde_json::from_slice(line)?;
        let need = |what: Option<u64>, name: &'static str| what.ok_or(Wrong::Lacks(name));
        match (answer.op, answer.event) {
            (Some(Op::Started), _) => {
                if answer.nodes == Some(0) {
                    return Err(Wrong::NoNodes);
                }
                let name = answer.name.filter(|name| !name.trim().is_empty());
                Ok(Self::Started(Hello {
                    name: name.ok_or(Wrong::Nameless)?,
                    version: answer.version.unwrap_or_default(),
                    language: answer.language.unwrap_or_default(),
                    nodes: answer.nodes,
                    can: answer.can,
                }))
            }
            (None, Some(Event::Lost)) => Ok(Self::Lost(need(answer.of, "of")?)),
            (None, Some(Event::Extended)) => Ok(Self::Extended(need(answer.of, "of")?, answer.until)),
            (None, None) => {
                let id = need(answer.id, "id")?;
                match (answer.is, answer.t) {
                    (Some(is), _) => Ok(Self::Replied(id, is, answer)),
                    (None, Some(t)) => Ok(Self::Clock(id, t)),
                    (None, None) => Err(Wrong::Empty),
                }
            }
        }
    }
}

/// What is wrong with a line of a client, for its author.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// It is no JSON, or not of this protocol.
    #[error("{0}")]
    Unreadable(#[from] serde_json::Error),
    /// A field is missing.
    #[error("it has no \"{0}\"")]
    Lacks(&'static str),
    /// The client does not say what its library is called.
    #[error("it has no \"name\" of the library")]
    Nameless,
    /// A lock is on no node.
    #[error("\"nodes\" is 0; leave it out if a lock is on all nodes")]
    NoNodes,
    /// It answers nothing.
    #[error("it has neither \"is\" nor \"t\"")]
    Empty,
    /// A lock is promised by a client that does not promise any.
    #[error("it has \"until\", but \"can\" has no \"validity\"")]
    Promises,
    /// A lock is not promised.
    #[error("it has no \"until\", although \"can\" has \"validity\"")]
    NoPromise,
    /// There is no such order, or it was answered before.
    #[error("nobody waits for an answer to {0}: each order is answered once")]
    NotAsked(u64),
    /// An order has other answers.
    #[error("{order} {id} can't be answered by {}", .with.map_or("the time", Into::into))]
    Mismatched {
        /// The order.
        order: &'static str,
        /// Its number.
        id: u64,
        /// The answer; `None`: the time.
        with: Option<Is>,
    },
}

/// The JSON Schema of both sides: `lockstorm` is what Lockstorm says, `client` what a client says.
pub fn schema() -> serde_json::Value {
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "lockstorm-client/1",
        "lockstorm": schemars::schema_for!(Order),
        "client": schemars::schema_for!(Answer),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_what_is_wrong_is_told() {
        let read = |line: &str| Heard::read(line.as_bytes());
        assert!(matches!(
            read(r#"{"op":"started","name":"x","can":["extend","lost"]}"#),
            Ok(Heard::Started(Hello { can, .. })) if can == [Can::Extend, Can::Lost]
        ));
        assert!(matches!(
            read(r#"{"id":7,"is":"held","until":5,"fence":17}"#),
            Ok(Heard::Replied(7, Is::Held, _))
        ));
        assert_eq!(read(r#"{"id":1,"t":12}"#).unwrap(), Heard::Clock(1, 12));
        assert_eq!(read(r#"{"event":"lost","of":7}"#).unwrap(), Heard::Lost(7));
        assert_eq!(
            read(r#"{"event":"extended","of":7,"until":9}"#).unwrap(),
            Heard::Extended(7, Some(9))
        );
        for (line, word) in [
            ("hello", "expected value"),
            (r#"{"id":7}"#, "neither"),
            (r#"{"is":"held"}"#, "no \"id\""),
            (r#"{"id":7,"is":"hold"}"#, "unknown variant"),
            (r#"{"op":"started"}"#, "no \"name\""),
            (r#"{"event":"lost"}"#, "no \"of\""),
            ("[]", "no \"id\""),
        ] {
            let why = read(line).expect_err(line).to_string();
            assert!(why.contains(word), "{line}: {why}");
        }
    }

    #[test]
    fn orders_are_written_as_the_documentation_says() {
        let text = |order: Order| serde_json::to_string(&order).unwrap();
        let acquire = Order::Acquire {
            id: 7,
            key: "k".to_owned(),
            wait_ms: 500,
        };
        assert_eq!(text(acquire), r#"{"op":"acquire","id":7,"key":"k","wait_ms":500}"#);
        assert_eq!(
            text(Order::Release { id: 8, of: 7 }),
            r#"{"op":"release","id":8,"of":7}"#
        );
        assert_eq!(text(Order::Stop), r#"{"op":"stop"}"#);
    }
}
