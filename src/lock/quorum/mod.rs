//! Locks on a quorum of independent nodes.

pub(crate) mod extensions;
pub(crate) mod lock;
