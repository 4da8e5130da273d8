//! Numbers as the databases have them.

/// The databases have no unsigned numbers. Ours are far below the limit, because rows are counted and not hashed.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Back to unsigned. The tables hold no negative number (`CHECK`).
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
