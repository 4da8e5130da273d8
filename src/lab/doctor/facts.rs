use std::collections::BTreeMap;
use std::time::Duration;

use lockstorm_data::metrics::{Clock, ClockRate};

/// What is known of a server before it is asked, and what it said.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Host and port.
    pub name: String,
    /// Whether it is on this machine, by its address.
    pub is_loopback: bool,
    /// Whether the way to it is encrypted.
    pub uses_tls: bool,
    /// The port at which it was asked, if it would name the same one as its own.
    pub port: Option<u16>,
    /// What it said, or why it could not be asked.
    pub server: Result<Server, Unreached>,
}

/// Whether a server's error says that it has no command of this name: it is renamed, or switched off.
pub(super) fn is_unknown_command(error: &str) -> bool {
    error.contains("unknown command")
}

/// Why a server could not be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreached {
    /// Nothing can be reached there, or something else answers.
    Silent(String),
    /// A connection is accepted, but no reply comes in time.
    Stalled(String),
    /// It refused the user, the password or the database; its own words.
    Denied(String),
    /// It closes the connection.
    Closed,
    /// The TLS handshake failed.
    Tls(String),
}

/// What became of a lock that was acquired, extended and released to see whether that works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Whether all of it worked.
    pub lock: Result<(), Refused>,
    /// The commands that a lock needs and that the server does not know.
    pub unknown: Vec<&'static str>,
    /// The commands that were refused and that locks can do without, at the cost of waiting longer, each with the server's error.
    pub missing: Vec<(String, String)>,
    /// What became of keys that were set besides.
    pub keys: Keys,
}

/// What became of keys that were set with a TTL; what could not be told is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// Whether a `SET NX` of a key that was there was refused.
    pub second_refused: Option<bool>,
    /// The TTL of a key right after it was set.
    pub ttl: Option<TtlSeen>,
    /// How many were set, and how many of them were gone before their time.
    pub lost: Option<(usize, usize)>,
    /// The first error of the server.
    pub error: Option<String>,
}

/// What PTTL has said of a key right after it was set, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TtlSeen {
    /// What it was set with.
    pub set: i64,
    /// What was said: -1 without a TTL, -2 without a key.
    pub said: i64,
    /// How much of it may have passed.
    pub within: i64,
}

/// Why a trial failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The user lacks a permission; the server's words.
    NotPermitted(String),
    /// It did not answer in time, not even in a few seconds.
    Late,
    /// Something else.
    Failed(String),
}

/// What a server said.
#[derive(Debug, Clone)]
pub struct Server {
    /// The fields of `INFO`, or the server's error.
    pub info: Result<BTreeMap<String, String>, String>,
    /// The settings that `CONFIG GET` shows, or the server's error.
    pub config: Result<BTreeMap<String, String>, String>,
    /// The `run_id` that a second connection found.
    pub second_run_id: Option<String>,
    /// Whether every client that reaches it may set or delete locks, without a password; `None`: that could not be told.
    pub is_open: Option<bool>,
    /// How long PINGs took, shortest first, or the server's error.
    pub round_trips: Result<Vec<Duration>, String>,
    /// Its clock, or why it does not tell the time.
    pub clock: Result<Clock, String>,
    /// How fast its clock runs, if that could be told.
    pub rate: Option<ClockRate>,
    /// What became of a lock; `None`: none was tried, because the server can't keep locks.
    pub trial: Option<Trial>,
}

impl Server {
    /// A field of `INFO`.
    pub(super) fn info(&self, field: &str) -> Option<&str> {
        self.info.as_ref().ok()?.get(field).map(String::as_str)
    }

    /// The value of a setting, if the server told its settings.
    pub(super) fn config(&self, name: &str) -> Option<&str> {
        self.config.as_ref().ok()?.get(name).map(String::as_str)
    }

    /// The version that it names, a Valkey its own.
    pub(super) fn version(&self) -> Option<&str> {
        self.info("valkey_version").or_else(|| self.info("redis_version"))
    }

    /// A number in `INFO`.
    pub(super) fn number(&self, field: &str) -> Option<u64> {
        self.info(field)?.parse().ok()
    }

    /// The round trip that this share of PINGs did not exceed, for example 0.99.
    pub(super) fn round_trip(&self, share: f64) -> Option<Duration> {
        let round_trips = self.round_trips.as_ref().ok()?;
        let count = round_trips.len();
        // A share of at most 1 of a few dozen.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let rank = (share * count as f64).ceil() as usize;
        round_trips.get(rank.clamp(1, count.max(1)) - 1).copied()
    }
}
