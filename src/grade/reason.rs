//! Why an act is not an A, and the letter that follows from it.

use std::fmt;

use lockstorm_data::facts::{Caveat, ClientFault};
use lockstorm_data::metrics::units::{count, counted, micros};
use serde::Serialize;

use super::letter::Letter;

/// How long no lock may be granted longer than the fault itself explains, for a B, in microseconds.
const LATER: u64 = 2_500_000;

/// What was found in an act, or why it was not played.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// The client can neither extend nor renew a lock.
    CannotRenew,
    /// Its locks are on several nodes, which no Sentinel watches.
    NoSentinel,
    /// The act was not played.
    NotPlayed,
    /// No lock was ever acquired.
    NeverAcquired,
    /// Two held a lock at once although no node had lost a key.
    Unexplained {
        /// How many locks were held by two.
        locks: u64,
        /// How many of them without a cause.
        unexplained: u64,
        /// Whose late release has most likely removed the key of the next holder, if that was found.
        removed_by: Option<String>,
    },
    /// Two held a lock at once: keys were deleted from outside.
    KeysDeleted {
        /// How many locks were held by two.
        locks: u64,
    },
    /// Two held a lock at once, and it is not known whether lost keys explain it.
    Unjudged {
        /// How many locks were held by two.
        locks: u64,
    },
    /// Two held a lock at once: the nodes had lost the keys of the first.
    KeysLost {
        /// How many locks were held by two.
        locks: u64,
    },
    /// Two held a lock at once before the lock of the first had ended.
    HeldByTwo {
        /// How many locks were held by two.
        locks: u64,
        /// How many of them before the end.
        early: u64,
        /// Whose late release has most likely removed the key of the next holder, if that was found.
        removed_by: Option<String>,
    },
    /// Two held a lock at once: it had expired, and its holder was not told.
    EndUntold {
        /// How many locks were held by two.
        locks: u64,
    },
    /// By the client's own account locks were over before the work was done.
    OverEarly {
        /// How many.
        locks: u64,
        /// Of how many.
        of: u64,
    },
    /// Too few locks were granted to show anything.
    TooFew {
        /// How many.
        locks: u64,
    },
    /// Work was written after its lock had ended.
    UpdatesLost {
        /// How many updates were lost.
        updates: u64,
    },
    /// An acquire was not answered at all.
    Unanswered {
        /// The timeout of an acquire.
        timeout_us: u64,
        /// How long the answer was waited for.
        waited_us: u64,
    },
    /// An acquire was answered long after its timeout.
    AnsweredLate {
        /// The timeout of an acquire.
        timeout_us: u64,
        /// How long the answer took.
        took_us: u64,
    },
    /// Locks could not be acquired any more in the end.
    Stuck {
        /// How many.
        locks: u64,
    },
    /// Whether every lock can be acquired in the end was not tried.
    StuckUntried,
    /// Refusals were told as an outage, or not known, although the lock was only busy.
    BusyAsOutage {
        /// How many.
        refusals: u64,
    },
    /// Refusals were told as a busy lock although nodes were missing.
    OutageAsBusy {
        /// How many.
        refusals: u64,
        /// How many others named the outage.
        told: u64,
    },
    /// After the fault no lock was granted any more.
    NotRecovered {
        /// For how long.
        for_us: u64,
    },
    /// No lock was granted for longer than the fault explains.
    Outage {
        /// For how long, with the fault.
        for_us: u64,
        /// How much longer than the fault lasts.
        beyond_us: u64,
    },
    /// How fast the client is if nothing fails was not played.
    NotCompared,
    /// With one of several nodes down or slow, fewer locks were granted.
    Fewer {
        /// On how many nodes its locks are.
        nodes: usize,
        /// How many locks were granted.
        locks: u64,
        /// How many if nothing fails.
        usual: u64,
    },
    /// With one of several nodes down or slow, an acquire takes longer.
    Slower {
        /// On how many nodes its locks are.
        nodes: usize,
        /// The 99th percentile.
        p99_us: u64,
        /// The 99th percentile if nothing fails.
        usual_us: u64,
    },
    /// Locks were lost although they were renewed.
    RenewalLost {
        /// How many.
        locks: u64,
        /// Of how many.
        of: u64,
    },
    /// What limits the conclusions from the run, or an error of the client that may explain the rest.
    Caveat(Caveat),
}

impl Reason {
    /// What a client gets for it.
    pub const fn letter(&self) -> Letter {
        match self {
            Self::CannotRenew | Self::NoSentinel | Self::NotPlayed => Letter::NotAsked,
            // An error is a client's right.
            Self::Caveat(Caveat::ClientError { .. }) => Letter::A,
            Self::Outage { beyond_us, .. } if *beyond_us <= LATER => Letter::B,
            Self::Slower { .. } => Letter::B,
            Self::Unjudged { .. }
            | Self::KeysLost { .. }
            | Self::BusyAsOutage { .. }
            | Self::OutageAsBusy { .. }
            | Self::Fewer { .. } => Letter::C,
            Self::EndUntold { .. }
            | Self::UpdatesLost { .. }
            | Self::AnsweredLate { .. }
            | Self::Outage { .. }
            | Self::RenewalLost { .. }
            | Self::Caveat(Caveat::Client {
                fault: ClientFault::NotAnswered { .. },
                ..
            }) => Letter::D,
            Self::NeverAcquired
            | Self::Unexplained { .. }
            | Self::HeldByTwo { .. }
            | Self::OverEarly { .. }
            | Self::Unanswered { .. }
            | Self::Stuck { .. }
            | Self::NotRecovered { .. } => Letter::F,
            Self::KeysDeleted { .. }
            | Self::TooFew { .. }
            | Self::StuckUntried
            | Self::NotCompared
            | Self::Caveat(_) => Letter::Unknown,
        }
    }
}

impl fmt::Display for Reason {
    #[expect(clippy::too_many_lines, reason = "a sentence for each")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locks_were = |number: &u64| counted(*number, "lock was", "locks were");
        let refusals_of = |number: &u64| counted(*number, "refusal", "refusals");
        match self {
            Self::CannotRenew => f.write_str("it can neither extend nor renew a lock"),
            Self::NoSentinel => f.write_str("its locks are on several nodes, which no Sentinel watches"),
            Self::NotPlayed => f.write_str("it was not played"),
            Self::NeverAcquired => f.write_str("no lock was ever acquired"),
            Self::Unexplained {
                locks,
                unexplained,
                removed_by,
            } => write!(
                f,
                "{} held by two, {} of them although no node had lost a key{}",
                locks_were(locks),
                count(*unexplained),
                removal(removed_by.as_deref())
            ),
            Self::KeysDeleted { locks } => {
                write!(f, "{} held by two: keys were deleted from outside", locks_were(locks))
            }
            Self::Unjudged { locks } => write!(
                f,
                "{} held by two; whether lost keys explain it is not known",
                locks_were(locks)
            ),
            Self::KeysLost { locks } => write!(
                f,
                "{} held by two: the nodes had lost the keys of the first",
                locks_were(locks)
            ),
            Self::HeldByTwo {
                locks,
                early,
                removed_by,
            } => write!(
                f,
                "{} held by two, {} of them before the end: within the TTL of the acquire or the last extension, or before the \"until\" \
                 that was told{}",
                locks_were(locks),
                count(*early),
                removal(removed_by.as_deref())
            ),
            Self::EndUntold { locks } => write!(
                f,
                "{} held by two: they had expired, and their holders heard nothing of it while they worked; a client that gives \
                 \"until\", or says \"lost\" before the release, tells them",
                locks_were(locks)
            ),
            Self::OverEarly { locks, of } => write!(
                f,
                "{} of {} locks were over before the work was done, by the client's own account: \"until\" is past or in another unit, or \
                 \"lost\" was told",
                count(*locks),
                count(*of)
            ),
            Self::TooFew { locks } => write!(f, "only {} granted: too few to show anything", locks_were(locks)),
            Self::UpdatesLost { updates } => write!(
                f,
                "{} lost: work was written after its lock had ended",
                counted(*updates, "update was", "updates were")
            ),
            Self::Unanswered { timeout_us, waited_us } => write!(
                f,
                "an acquire with a timeout of {} was not answered within {}",
                micros(*timeout_us),
                micros(*waited_us)
            ),
            Self::AnsweredLate { timeout_us, took_us } => write!(
                f,
                "an acquire with a timeout of {} was answered after {}",
                micros(*timeout_us),
                micros(*took_us)
            ),
            Self::Stuck { locks } => write!(
                f,
                "{} could not be acquired any more a second after the TTL",
                counted(*locks, "lock", "locks")
            ),
            Self::StuckUntried => f.write_str("whether every lock can be had in the end was not tried"),
            Self::BusyAsOutage { refusals } => write!(
                f,
                "{} were told as an outage, or not known, although the lock was only busy",
                refusals_of(refusals)
            ),
            Self::OutageAsBusy { refusals, told } => {
                let (refusals, all) = (refusals_of(refusals), count(*told));
                let told = if *told == 0 { "none" } else { &all };
                write!(
                    f,
                    "{refusals} said that somebody holds the lock, and {told} that nodes are missing"
                )
            }
            Self::NotRecovered { for_us } => {
                write!(f, "after the fault no lock was granted any more ({})", micros(*for_us))
            }
            Self::Outage { for_us, .. } => write!(f, "no lock was granted for {}", micros(*for_us)),
            Self::NotCompared => f.write_str("how fast it is if nothing fails was not played: add --only healthy"),
            Self::Fewer { nodes, locks, usual } => write!(
                f,
                "with one of {nodes} nodes away or slow, {} granted instead of {}",
                locks_were(locks),
                count(*usual)
            ),
            Self::Slower {
                nodes,
                p99_us,
                usual_us,
            } => write!(
                f,
                "with one of {nodes} nodes away or slow, an acquire takes {} (p99) instead of {}",
                micros(*p99_us),
                micros(*usual_us)
            ),
            Self::RenewalLost { locks, of } => write!(
                f,
                "{} of {} locks were lost although they are renewed",
                count(*locks),
                count(*of)
            ),
            Self::Caveat(caveat) => caveat.fmt(f),
        }
    }
}

/// Who has removed a key, if that was found.
fn removal(removed_by: Option<&str>) -> String {
    removed_by.map_or_else(String::new, |who| {
        format!(
            "; the late release of {who} has most likely removed the key of the next holder: compare the token before deleting a key"
        )
    })
}
