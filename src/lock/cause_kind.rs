use std::fmt;

/// Why a node gave no vote, without the node's own text: for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum CauseKind {
    /// [`Cause::Held`](crate::Cause::Held).
    Held,
    /// [`Cause::Refused`](crate::Cause::Refused).
    Refused,
    /// [`Cause::Timeout`](crate::Cause::Timeout).
    Timeout,
    /// [`Cause::Disconnected`](crate::Cause::Disconnected).
    Disconnected,
    /// [`Cause::Suspect`](crate::Cause::Suspect).
    Suspect,
    /// [`Cause::Busy`](crate::Cause::Busy).
    Busy,
    /// [`Cause::Duplicate`](crate::Cause::Duplicate).
    Duplicate,
    /// [`Cause::NoPermission`](crate::Cause::NoPermission).
    NoPermission,
    /// [`Cause::Tls`](crate::Cause::Tls).
    Tls,
    /// [`Cause::ReadOnly`](crate::Cause::ReadOnly).
    ReadOnly,
    /// [`Cause::Moved`](crate::Cause::Moved).
    Moved,
    /// [`Cause::NoMaster`](crate::Cause::NoMaster).
    NoMaster,
    /// [`Cause::NotReady`](crate::Cause::NotReady).
    NotReady,
    /// [`Cause::Unreplicated`](crate::Cause::Unreplicated).
    Unreplicated,
    /// [`Cause::Error`](crate::Cause::Error).
    Error,
}

impl CauseKind {
    /// Its name, as it is written with the feature `serde`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Disconnected => "disconnected",
            Self::Suspect => "suspect",
            Self::Busy => "busy",
            Self::Duplicate => "duplicate",
            Self::NoPermission => "no_permission",
            Self::Tls => "tls",
            Self::ReadOnly => "read_only",
            Self::Moved => "moved",
            Self::NoMaster => "no_master",
            Self::NotReady => "not_ready",
            Self::Unreplicated => "unreplicated",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for CauseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
