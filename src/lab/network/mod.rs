//! The connections between hosts, which a proxy can break.

pub(crate) mod gauge;
pub(crate) mod link_states;
pub(crate) mod links;
pub(crate) mod source;
