use std::fmt;

use crate::CauseKind;

/// Why one node gave no vote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Cause {
    /// The key is held under another token.
    Held,
    /// No connection: the node is down or refuses connections.
    Refused,
    /// No reply in time; the command may still run later.
    Timeout,
    /// The connection broke after the command was sent; the node may or may not have run it.
    Disconnected,
    /// The node had owed a reply for longer than the node timeout, so it was not asked at all.
    Suspect,
    /// As many commands as may be under way to this node were ahead, or the command's turn had not come when the caller
    /// stopped waiting: the node was not asked at all.
    Busy,
    /// The node's user may not run the command or use the key (`NOPERM`), or its password is wrong.
    NoPermission(String),
    /// No connection: the node could not prove its identity, or the TLS handshake failed.
    Tls(String),
    /// The node is a replica (`READONLY`): it did not run the command.
    ReadOnly,
    /// Nobody knows of a master: no Sentinel can be asked, none knows one, or the node that they name says that it is none.
    NoMaster,
    /// The node can't run commands at this time, and did not run this one: it loads its data (`LOADING`), has lost its master
    /// (`MASTERDOWN`) or its cluster (`CLUSTERDOWN`), hands the key to another node (`TRYAGAIN`), or has too few replicas
    /// (`NOREPLICAS`).
    NotReady(String),
    /// The node ran the command, but only so many replicas confirmed it in time
    /// ([`NodeOptions::wait_replicas`](crate::NodeOptions::wait_replicas)). What it did is taken back.
    Unreplicated {
        /// How many replicas confirmed it.
        replicas: u32,
        /// How many had to.
        of: u32,
    },
    /// The node answered with another error, for example `OOM`.
    Error(String),
}

impl Cause {
    /// Whether the node may have granted its vote although no reply arrived.
    #[must_use]
    pub const fn may_have_voted(&self) -> bool {
        matches!(self, Self::Timeout | Self::Disconnected)
    }

    /// The kind of the cause, without the node's own text.
    #[must_use]
    pub const fn kind(&self) -> CauseKind {
        match self {
            Self::Held => CauseKind::Held,
            Self::Refused => CauseKind::Refused,
            Self::Timeout => CauseKind::Timeout,
            Self::Disconnected => CauseKind::Disconnected,
            Self::Suspect => CauseKind::Suspect,
            Self::Busy => CauseKind::Busy,
            Self::NoPermission(_) => CauseKind::NoPermission,
            Self::Tls(_) => CauseKind::Tls,
            Self::ReadOnly => CauseKind::ReadOnly,
            Self::NoMaster => CauseKind::NoMaster,
            Self::NotReady(_) => CauseKind::NotReady,
            Self::Unreplicated { .. } => CauseKind::Unreplicated,
            Self::Error(_) => CauseKind::Error,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPermission(text) => write!(f, "no permission: {text}"),
            Self::Tls(text) => write!(f, "TLS: {text}"),
            Self::NotReady(text) => write!(f, "not ready: {text}"),
            Self::Error(text) => write!(f, "error: {text}"),
            Self::Unreplicated { replicas, of } => write!(f, "confirmed by {replicas} of {of} replicas"),
            Self::ReadOnly => f.write_str("read-only"),
            Self::NoMaster => f.write_str("no master"),
            Self::Held | Self::Refused | Self::Timeout | Self::Disconnected | Self::Suspect | Self::Busy => {
                self.kind().fmt(f)
            }
        }
    }
}
