use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::units::{count, counted, micros};
use crate::model::in_us;

/// What a fault meant for the locks of one arm: why it lost some, or how it kept them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Consequence {
    /// Since when it is so.
    #[serde(rename = "at_us", with = "in_us")]
    #[schemars(with = "i64")]
    pub at: f64,
    /// The number of the event that brought it about: that of the fault or of the failover; null if there is no such event.
    pub event: Option<u64>,
    /// What it was.
    #[serde(flatten)]
    pub kind: ConsequenceKind,
}

/// The kinds of consequence. In words (`Display`) the arm is the subject: "forgot 45 held locks".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ConsequenceKind {
    /// A host came back without the keys of held locks, and nobody else has enough of them.
    Forgot {
        /// How many locks.
        locks: u64,
    },
    /// A master came back empty before another one had taken over, and its replicas became as empty as it is.
    EmptinessReplicated {
        /// How many held locks are forgotten.
        locks: u64,
    },
    /// A host that came back empty was one of several voters: the others still have the keys of these held locks.
    KeptVotes {
        /// How many locks had every vote.
        locks: u64,
        /// How many votes they have left.
        votes: usize,
        /// How many voters there are.
        of: usize,
    },
    /// A member of etcd stood still or died while these locks were held, which the others keep.
    KeptByOthers {
        /// How many locks.
        locks: u64,
        /// How many members are left.
        members: usize,
        /// How many there are in all.
        of: usize,
    },
    /// A replica that became a master did not have the keys of held locks.
    LostAtFailover {
        /// How many it did not have.
        locks: u64,
        /// How many were held.
        of: u64,
    },
    /// A node that was a master no longer went on granting locks.
    GrantedByOldMaster {
        /// How many so far.
        locks: u64,
    },
    /// Attempts to acquire locks were refused for lack of nodes.
    Refused {
        /// How many.
        attempts: u64,
    },
    /// Locks without a holder were granted later than before.
    Delayed {
        /// By how much on average, in microseconds.
        by_us: u64,
    },
    /// An app server died that held locks.
    Orphaned {
        /// How many it held.
        locks: u64,
    },
    /// Keys of locks whose holder had died kept others out for more than twice their TTL and a second.
    OutlivedHolder {
        /// How many locks.
        locks: u64,
        /// For how long at most, in microseconds.
        longest_us: u64,
    },
    /// An app server stood still for longer than the TTL of locks that it held.
    PausedPastTtl {
        /// How many it held.
        locks: u64,
    },
}

impl fmt::Display for ConsequenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = |locks| counted(locks, "held lock", "held locks");
        match *self {
            Self::Forgot { locks } => write!(f, "forgot {}", held(locks)),
            Self::EmptinessReplicated { locks } => write!(f, "forgot {}: the emptiness was replicated", held(locks)),
            Self::KeptVotes { locks, votes, of } => write!(f, "kept {votes} of {of} votes of {}", held(locks)),
            Self::KeptByOthers { locks, members, of } => {
                write!(f, "keeps {} with {members} of {of} members", held(locks))
            }
            Self::LostAtFailover { locks, of } => write!(f, "lost {} of {} at the failover", count(locks), held(of)),
            Self::GrantedByOldMaster { locks } => {
                write!(f, "was granted {} by an old master", counted(locks, "lock", "locks"))
            }
            Self::Refused { attempts } => write!(f, "was refused {}", counted(attempts, "attempt", "attempts")),
            Self::Delayed { by_us } => write!(f, "was granted {} later", micros(by_us)),
            Self::Orphaned { locks } => write!(f, "had {} of the dead app server", held(locks)),
            Self::OutlivedHolder { locks, longest_us } => {
                let keys = counted(locks, "key", "keys");
                write!(f, "was kept out for {} by {keys} of a dead holder", micros(longest_us))
            }
            Self::PausedPastTtl { locks } => write!(f, "was paused past its TTL with {}", held(locks)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consequence_is_plain_data_and_a_few_words() {
        let consequence = Consequence {
            at: 4.1,
            event: Some(7),
            kind: ConsequenceKind::Forgot { locks: 45 },
        };
        let json = serde_json::to_string(&consequence).unwrap();
        assert_eq!(json, r#"{"at_us":4100000,"event":7,"what":"forgot","locks":45}"#);
        assert_eq!(serde_json::from_str::<Consequence>(&json).unwrap(), consequence);
        let words = [
            (ConsequenceKind::Forgot { locks: 1 }, "forgot 1 held lock"),
            (
                ConsequenceKind::EmptinessReplicated { locks: 41 },
                "forgot 41 held locks: the emptiness was replicated",
            ),
            (
                ConsequenceKind::KeptVotes {
                    locks: 36,
                    votes: 2,
                    of: 3,
                },
                "kept 2 of 3 votes of 36 held locks",
            ),
            (
                ConsequenceKind::LostAtFailover { locks: 4, of: 11 },
                "lost 4 of 11 held locks at the failover",
            ),
            (
                ConsequenceKind::GrantedByOldMaster { locks: 192 },
                "was granted 192 locks by an old master",
            ),
            (ConsequenceKind::Refused { attempts: 1 }, "was refused 1 attempt"),
            (ConsequenceKind::Delayed { by_us: 60_000 }, "was granted 60 ms later"),
            (
                ConsequenceKind::Orphaned { locks: 2 },
                "had 2 held locks of the dead app server",
            ),
            (
                ConsequenceKind::OutlivedHolder {
                    locks: 2,
                    longest_us: 17_000_000,
                },
                "was kept out for 17 s by 2 keys of a dead holder",
            ),
            (
                ConsequenceKind::PausedPastTtl { locks: 3 },
                "was paused past its TTL with 3 held locks",
            ),
        ];
        for (kind, words) in words {
            assert_eq!(kind.to_string(), words);
        }
    }
}
