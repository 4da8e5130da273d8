//! What a run shows of itself, and what it notices.

pub(crate) mod events;
pub(crate) mod notice;
pub(crate) mod outlasted;
pub(crate) mod snapshot;
pub(crate) mod stage;
