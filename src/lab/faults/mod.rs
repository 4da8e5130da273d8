//! Faults that nodes bring about themselves when they are told to, over connections of our own. A file for each kind: how it is done, what
//! proves it, and how it is undone.

mod evict;
mod forget;
mod full;
mod misconf;
mod reset;
mod stall;
mod telling;
pub(crate) mod told;
