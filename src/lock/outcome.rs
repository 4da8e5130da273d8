/// How one acquire ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Outcome {
    /// The lock is held.
    Acquired,
    /// Enough nodes answered, and somebody else holds the lock.
    Contended,
    /// Too few nodes could be reached: nobody could have got the lock.
    NoQuorum,
    /// A quorum voted, but too late: no validity was left.
    Expired,
    /// Nodes that did not answer in time could have completed the quorum. A timeout is unknown, never "failed".
    Unknown,
}
