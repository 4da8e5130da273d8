use std::fmt;

/// Why one node gave no vote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Cause {
    /// The key is held under another token.
    Held,
    /// No connection: the node is down, or its machine refuses connections.
    Refused,
    /// No connection, for this reason: the name can't be looked up, what listens there does not speak as a node does, or nothing
    /// answers there in time.
    Unreachable(String),
    /// The connections were ended by [`Nodes::shutdown`](crate::Nodes::shutdown), or with the runtime in which the nodes were
    /// opened: nothing more can be acquired with them.
    Ended,
    /// No reply in time; the command may still run later.
    Timeout,
    /// The connection broke after the command was sent; the node may or may not have run it.
    Disconnected,
    /// The node had owed a reply for longer than the node timeout, so it was not asked at all.
    Suspect,
    /// As many locks as an app server may have on this node are held or being acquired, or as many commands as may wait for it do:
    /// the node was not asked at all.
    Busy,
    /// What is queued for this node can't be answered as soon as the caller needs it, or the command's turn had not come when the
    /// caller stopped waiting: the node was not asked at all. The app server asks for more than the node, or the way to it, can carry.
    Overloaded,
    /// This app server holds as many locks as it can: [`Nodes`](crate::Nodes) has room for 131,072 attempts that may have a key
    /// on a node, held locks included. The node was not asked at all.
    TooMany,
    /// The node is the same server as another one of the list, which has the vote of that server: it was not asked. This is a
    /// mistake in the configuration: the list has fewer servers than nodes.
    Duplicate {
        /// The position of the other one, counted from 0.
        of: usize,
    },
    /// The node's user may not run the command or use the key (`NOPERM`), or its password is wrong.
    NoPermission(String),
    /// No connection: the node could not prove its identity, or the TLS handshake failed.
    Tls(String),
    /// The node is a replica (`READONLY`): it did not run the command.
    ReadOnly,
    /// The node belongs to a cluster that keeps the key on another node (`MOVED`, `ASK`): it did not run the command.
    Moved,
    /// Nobody knows of a master: no Sentinel can be asked, none knows one, or the node that they name says that it is none. Of a
    /// cluster: none of its nodes can be asked, or none has the key's slot.
    NoMaster,
    /// The node can't run commands at this time, and did not run this one: it loads its data (`LOADING`), a script keeps it
    /// (`BUSY`), it has lost its master (`MASTERDOWN`) or its cluster (`CLUSTERDOWN`), hands the key to another node (`TRYAGAIN`), or has too few replicas
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
    /// The node answered with another error, for example `OOM`. Something between it and us may have made that error, after
    /// the node had run the command; only with an error that servers are known to give before they run a command it is known
    /// that it was not run.
    Error(String),
}

/// The codes of errors with which a server turns a command away before it runs it, because of its own state. Our scripts
/// write once only, so one that ends with such an error has written nothing.
const NOT_READY: [&str; 6] = ["BUSY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS"];

/// How the error begins of a server that could not read a command, because it is too long, say. It closes the connection.
const UNREADABLE: &str = "ERR Protocol error";

/// How other errors begin that servers give before they run a command.
const NOT_RUN: [&str; 10] = [
    UNREADABLE,
    "OOM",
    "MISCONF",
    "NOSCRIPT",
    "CROSSSLOT",
    "ERR unknown command",
    "ERR wrong number",
    "ERR syntax",
    "ERR max number of clients",
    "ERR This instance has cluster support disabled",
];

/// Whether the error begins with one of these, in whole words.
fn begins_with(error: &str, beginnings: &[&str]) -> bool {
    let is_whole = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric());
    let mut beginnings = beginnings.iter();
    beginnings.any(|beginning| error.strip_prefix(beginning).is_some_and(is_whole))
}

impl Cause {
    /// The cause that a node's error line stands for.
    pub(crate) fn of_error(error: String) -> Self {
        match error {
            _ if begins_with(&error, &["NOPERM", "NOAUTH", "WRONGPASS"]) => Self::NoPermission(error),
            _ if Self::is_read_only(&error) => Self::ReadOnly,
            _ if begins_with(&error, &["MOVED", "ASK"]) => Self::Moved,
            _ if begins_with(&error, &NOT_READY) => Self::NotReady(error),
            _ => Self::Error(error),
        }
    }

    /// Whether a node's error line says that it is a replica.
    pub(crate) fn is_read_only(error: &str) -> bool {
        begins_with(error, &["READONLY"])
    }

    /// Whether a node's error line says that it could not read the command.
    pub(crate) fn is_unreadable(error: &str) -> bool {
        begins_with(error, &[UNREADABLE])
    }

    /// Whether the node may have granted its vote although it gave no answer that says so.
    #[must_use]
    pub fn may_have_voted(&self) -> bool {
        match self {
            Self::Timeout | Self::Disconnected => true,
            Self::Error(error) => !begins_with(error, &NOT_RUN),
            _ => false,
        }
    }
}

/// A kind for each cause, and how it is written.
macro_rules! kinds {
    ($($kind:ident $name:literal)+) => {
        /// Why a node gave no vote, without the node's own text: for counting.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
        #[non_exhaustive]
        pub enum CauseKind {
            $(#[doc = concat!("[`Cause::", stringify!($kind), "`]")] $kind,)+
        }

        impl CauseKind {
            /// Its name, as it is written with the feature `serde`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }

        impl Cause {
            /// The kind of the cause, without the node's own text.
            #[must_use]
            pub const fn kind(&self) -> CauseKind {
                match self {
                    $(Self::$kind { .. } => CauseKind::$kind,)+
                }
            }
        }
    };
}

kinds! {
    Held "held"
    Refused "refused"
    Unreachable "unreachable"
    Ended "ended"
    Timeout "timeout"
    Disconnected "disconnected"
    Suspect "suspect"
    Busy "busy"
    Overloaded "overloaded"
    TooMany "too_many"
    Duplicate "duplicate"
    NoPermission "no_permission"
    Tls "tls"
    ReadOnly "read_only"
    Moved "moved"
    NoMaster "no_master"
    NotReady "not_ready"
    Unreplicated "unreplicated"
    Error "error"
}

impl fmt::Display for CauseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPermission(text) => write!(f, "no permission: {text}"),
            Self::Tls(text) => write!(f, "TLS: {text}"),
            Self::Unreachable(text) => write!(f, "unreachable: {text}"),
            Self::Ended => f.write_str("shut down, or its runtime has ended"),
            Self::NotReady(text) => write!(f, "not ready: {text}"),
            Self::Error(text) => write!(f, "error: {text}"),
            Self::Unreplicated { replicas, of } => write!(f, "confirmed by {replicas} of {of} replicas"),
            Self::Duplicate { of } => write!(f, "is the same server as node {}", of + 1),
            Self::ReadOnly => f.write_str("read-only"),
            Self::NoMaster => f.write_str("no master"),
            Self::Held
            | Self::Refused
            | Self::Timeout
            | Self::Disconnected
            | Self::Suspect
            | Self::Busy
            | Self::Overloaded
            | Self::TooMany
            | Self::Moved => self.kind().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_apart_by_their_code() {
        let cause = |error: &str| Cause::of_error(error.into());
        for error in [
            "LOADING Redis is loading the dataset in memory",
            "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
            "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
            "CLUSTERDOWN The cluster is down",
            "CLUSTERDOWN Hash slot not served",
            "TRYAGAIN Multiple keys request during rehashing of slot",
            "NOREPLICAS Not enough good replicas to write.",
        ] {
            assert_eq!(cause(error), Cause::NotReady(error.into()));
        }
        let readonly = "READONLY You can't write against a read only replica.";
        assert_eq!(cause(readonly), Cause::ReadOnly);
        for moved in ["MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381"] {
            assert_eq!(cause(moved), Cause::Moved);
        }
        let denied = "NOPERM this user has no permissions";
        assert_eq!(cause(denied), Cause::NoPermission(denied.into()));
        for error in [
            "OOM command not allowed",
            "ERR LOADING",
            "MISCONF Errors writing to the AOF file",
            "ASKING is something else",
        ] {
            assert_eq!(cause(error), Cause::Error(error.into()));
        }
    }

    #[test]
    fn only_errors_that_servers_give_before_they_run_a_command_say_that_it_was_not_run() {
        for error in [
            "OOM command not allowed when used memory > 'maxmemory'.",
            "MISCONF Errors writing to the AOF file: No space left on device",
            "BUSY Redis is busy running a script.",
            "ERR unknown command 'SET', with args beginning with: 'k'",
            "ERR syntax error",
            "ERR Protocol error: invalid bulk length",
            "READONLY You can't write against a read only replica.",
            "CLUSTERDOWN The cluster is down",
            "MOVED 1 h:1",
            "NOAUTH Authentication required.",
        ] {
            assert!(!Cause::of_error(error.into()).may_have_voted(), "{error}");
        }
        for error in [
            "ERR upstream failure",
            "ERR",
            "EXECABORT Transaction discarded",
            "BUSYKEY Target key name already exists.",
            "unexpected reply",
            "",
        ] {
            assert!(Cause::of_error(error.into()).may_have_voted(), "{error}");
        }
        assert!(Cause::Timeout.may_have_voted() && Cause::Disconnected.may_have_voted());
        assert!(!Cause::Refused.may_have_voted() && !Cause::Held.may_have_voted());
    }
}
