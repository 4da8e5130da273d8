//! Locks on a quorum of independent nodes.

mod extensions;
pub(crate) mod kind;
pub(crate) mod lock;
