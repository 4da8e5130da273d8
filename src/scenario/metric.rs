//! The names of the figures that conditions, expectations and records use.

use serde::{Deserialize, Serialize};

/// A figure of an arm. Its name in files is the variant in snake case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // each is documented in the README's table of figures and in `metrics::Figures`
pub enum Metric {
    Acquired,
    Contended,
    NoQuorum,
    Expired,
    Unknown,
    AcquireP50,
    AcquireP90,
    AcquireP99,
    AcquireP999,
    AcquireMax,
    ResponseP50,
    ResponseP90,
    ResponseP99,
    ResponseP999,
    ResponseMax,
    ServiceP50,
    ServiceP99,
    LagP50,
    LagP99,
    Attempts,
    RefusedSeconds,
    Offered,
    Dropped,
    Unfinished,
    NeverBegun,
    Answered,
    Throughput,
    Completed,
    Late,
    Orders,
    Oversold,
    LostUpdates,
    LostUpdatesPeak,
    SoldOut,
    DbHits,
    DbHitsPerExpiry,
    DbHitsPerExpiryMax,
    Hits,
    StaleReads,
    GaveUp,
    DuplicatePages,
    MissingPages,
    LocksLost,
    Overran,
    Aborted,
    Fenced,
    Errors,
    Holding,
    Partial,
}

/// How a figure is written and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Count,
    /// A duration; held in microseconds.
    Micros,
    /// Per second.
    PerSecond,
}

impl Metric {
    /// All of them, in the order of the README's table.
    pub const ALL: &'static [Self] = &[
        Self::Acquired,
        Self::Contended,
        Self::NoQuorum,
        Self::Expired,
        Self::Unknown,
        Self::AcquireP50,
        Self::AcquireP90,
        Self::AcquireP99,
        Self::AcquireP999,
        Self::AcquireMax,
        Self::ResponseP50,
        Self::ResponseP90,
        Self::ResponseP99,
        Self::ResponseP999,
        Self::ResponseMax,
        Self::ServiceP50,
        Self::ServiceP99,
        Self::LagP50,
        Self::LagP99,
        Self::Attempts,
        Self::RefusedSeconds,
        Self::Offered,
        Self::Dropped,
        Self::Unfinished,
        Self::NeverBegun,
        Self::Answered,
        Self::Throughput,
        Self::Completed,
        Self::Late,
        Self::Orders,
        Self::Oversold,
        Self::LostUpdates,
        Self::LostUpdatesPeak,
        Self::SoldOut,
        Self::DbHits,
        Self::DbHitsPerExpiry,
        Self::DbHitsPerExpiryMax,
        Self::Hits,
        Self::StaleReads,
        Self::GaveUp,
        Self::DuplicatePages,
        Self::MissingPages,
        Self::LocksLost,
        Self::Overran,
        Self::Aborted,
        Self::Fenced,
        Self::Errors,
        Self::Holding,
        Self::Partial,
    ];

    /// Its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::Contended => "contended",
            Self::NoQuorum => "no_quorum",
            Self::Expired => "expired",
            Self::Unknown => "unknown",
            Self::AcquireP50 => "acquire_p50",
            Self::AcquireP90 => "acquire_p90",
            Self::AcquireP99 => "acquire_p99",
            Self::AcquireP999 => "acquire_p999",
            Self::AcquireMax => "acquire_max",
            Self::ResponseP50 => "response_p50",
            Self::ResponseP90 => "response_p90",
            Self::ResponseP99 => "response_p99",
            Self::ResponseP999 => "response_p999",
            Self::ResponseMax => "response_max",
            Self::ServiceP50 => "service_p50",
            Self::ServiceP99 => "service_p99",
            Self::LagP50 => "lag_p50",
            Self::LagP99 => "lag_p99",
            Self::Attempts => "attempts",
            Self::RefusedSeconds => "refused_seconds",
            Self::Offered => "offered",
            Self::Dropped => "dropped",
            Self::Unfinished => "unfinished",
            Self::NeverBegun => "never_begun",
            Self::Answered => "answered",
            Self::LostUpdatesPeak => "lost_updates_peak",
            Self::Overran => "overran",
            Self::Throughput => "throughput",
            Self::Completed => "completed",
            Self::Late => "late",
            Self::Orders => "orders",
            Self::Oversold => "oversold",
            Self::LostUpdates => "lost_updates",
            Self::SoldOut => "sold_out",
            Self::DbHits => "db_hits",
            Self::DbHitsPerExpiry => "db_hits_per_expiry",
            Self::DbHitsPerExpiryMax => "db_hits_per_expiry_max",
            Self::Hits => "hits",
            Self::StaleReads => "stale_reads",
            Self::GaveUp => "gave_up",
            Self::DuplicatePages => "duplicate_pages",
            Self::MissingPages => "missing_pages",
            Self::LocksLost => "locks_lost",
            Self::Aborted => "aborted",
            Self::Fenced => "fenced",
            Self::Errors => "errors",
            Self::Holding => "holding",
            Self::Partial => "partial",
        }
    }

    /// The unit that its bounds are written in.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::AcquireP50
            | Self::AcquireP90
            | Self::AcquireP99
            | Self::AcquireP999
            | Self::AcquireMax
            | Self::ResponseP50
            | Self::ResponseP90
            | Self::ResponseP99
            | Self::ServiceP50
            | Self::ServiceP99
            | Self::LagP50
            | Self::LagP99
            | Self::ResponseP999
            | Self::ResponseMax => Unit::Micros,
            Self::Throughput => Unit::PerSecond,
            _ => Unit::Count,
        }
    }
}
