//! A run from its lab to its record: this calls everything else.

pub(crate) mod ending;
pub(crate) mod finish;
pub(crate) mod journalling;
pub(crate) mod orders;
pub(crate) mod play;
pub(crate) mod preparation;
pub(crate) mod state;
pub(crate) mod story;
pub(crate) mod stuck_keys;
pub(crate) mod timing;
