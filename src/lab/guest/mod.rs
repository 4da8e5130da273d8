//! Programs of others that use the lab's nodes. The keeper starts them, says what becomes of them, and ends them with the lab.

pub(crate) mod guests;
mod life;
