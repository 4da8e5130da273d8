//! What goes wrong in a schedule, and when.

use serde::Serialize;
use strum::VariantArray;

/// What goes wrong with a node. Some of it happens before the first client asks, the rest while it is in its section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum NodeFault {
    /// It dies in the section of the first client and is back at once, without its keys.
    Forgets,
    /// Its clock jumps forward by the TTL while the first client is in its section.
    ClockJumps,
    /// Its clock jumps back by the TTL while the first client is in its section.
    ClockJumpsBack,
    /// It dies in the section of the first client and is back at once, with its keys.
    KeepsKeys,
    /// It dies in the section of the first client and is back without its keys, but only once they would have expired.
    ReturnsLate,
    /// The connections of the first client to it break, in that client's section.
    Cut,
    /// It is down when the first client asks, and comes back soon after, without its keys.
    Away,
    /// It dies before the first client asks and is back at once, without its keys.
    ForgetsBefore,
    /// What the first client writes to it arrives only after that client's section.
    MessageLate,
    /// What it answers the first client arrives only after that client's section.
    AnswerLate,
    /// It is paused when the first client asks, and goes on soon after.
    Paused,
}

impl NodeFault {
    /// Whether it happens before the first client asks.
    pub const fn is_before_the_acquire(self) -> bool {
        matches!(
            self,
            Self::ForgetsBefore | Self::MessageLate | Self::AnswerLate | Self::Paused | Self::Away
        )
    }
}

/// What goes wrong with a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum ClientFault {
    /// The first client stops in its section for longer than the TTL.
    FirstPauses,
    /// The first client's section takes longer than the TTL, and nothing renews its lock.
    SectionTooLong,
    /// The second client stops while it waits.
    SecondPauses,
}
