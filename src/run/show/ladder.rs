//! The round values of the knobs.

/// 1, 2, 5, 10, 20, 50 … up to 500 billion.
pub fn ladder() -> impl Iterator<Item = u64> {
    (0..12).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)))
}

/// The shortest and the longest TTL of the knob, in microseconds.
pub const TTLS: [u64; 2] = [10_000, 600_000_000];
