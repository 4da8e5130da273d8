//! Locks on a quorum of independent nodes.

mod extensions;
pub(crate) mod lock;
