use std::fmt;

/// Why one node gave no vote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Cause {
    /// The key is held under another token.
    Held,
    /// No connection: the node is down or refuses.
    Refused,
    /// No reply in time; the command may still run later.
    Timeout,
    /// The connection broke after the command was sent; whether it ran is not known.
    Disconnected,
    /// The node owes replies for longer than the node timeout, so it was not asked at all.
    Suspect,
    /// Others were before it, as many as may be under way to this node, or its turn had not come when the caller stopped
    /// waiting: the node was not asked at all.
    Busy,
    /// The node's user may not run the command or use the key (`NOPERM`), or its password is wrong.
    NoPermission(String),
    /// No connection: the node can't prove who it is, or does not agree on TLS.
    Tls(String),
    /// The node answered with another error, for example `READONLY` or `OOM`.
    Error(String),
}

impl Cause {
    /// Whether the node may have granted its vote although we did not hear of it.
    #[must_use]
    pub const fn may_have_voted(&self) -> bool {
        matches!(self, Self::Timeout | Self::Disconnected)
    }

    /// Its kind in one word, without the node's own text: for counting.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Disconnected => "disconnected",
            Self::Suspect => "suspect",
            Self::Busy => "busy",
            Self::NoPermission(_) => "no_permission",
            Self::Tls(_) => "tls",
            Self::Error(_) => "error",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held => f.write_str("held"),
            Self::Refused => f.write_str("refused"),
            Self::Timeout => f.write_str("timeout"),
            Self::Disconnected => f.write_str("disconnected"),
            Self::Suspect => f.write_str("suspect"),
            Self::Busy => f.write_str("busy"),
            Self::NoPermission(text) => write!(f, "no permission: {text}"),
            Self::Tls(text) => write!(f, "TLS: {text}"),
            Self::Error(text) => write!(f, "error: {text}"),
        }
    }
}
