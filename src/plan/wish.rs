use serde::Serialize;

/// What a setting should have beyond the goal, in the order of weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::EnumIter)]
#[serde(rename_all = "kebab-case")]
pub enum Wish {
    /// A renewal may fail without loss, or there are none.
    FailedRenewal,
    /// The longest pause, with room: [`Question::pause_with_room`].
    Pause,
    /// A tenth of the longest takeover is left for the next attempt of who waits.
    Takeover,
}
