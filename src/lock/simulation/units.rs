use std::time::Duration;

/// A duration in nanoseconds; 584 years at most.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A position in the short form that events use: no list of a world has more than 2^32 entries.
pub(super) fn short(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
