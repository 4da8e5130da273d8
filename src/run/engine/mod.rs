//! A run from its lab to its record: what calls everything else.

pub(crate) mod doubt;
pub(crate) mod ending;
pub(crate) mod fault_orders;
pub(crate) mod finish;
pub(crate) mod knobs;
pub(crate) mod live;
pub(crate) mod masters;
pub(crate) mod meaning;
pub(crate) mod outside;
pub(crate) mod pace;
pub(crate) mod play;
pub(crate) mod preparation;
pub(crate) mod state;
pub(crate) mod stuck_keys;
pub(crate) mod view;
