//! What a run shows of itself.

pub(crate) mod events;
pub(crate) mod lacking;
pub(crate) mod publisher;
pub(crate) mod snapshot;
pub(crate) mod stage;
