//! What people send to the nodes of a lab by `lockstorm lab cli`. Their redis-cli is connected through a relay in our process, which
//! notes each command that writes in a file of the run directory, where the lab's owner reads it.

pub(crate) mod commands;
pub(crate) mod relay;
pub(crate) mod session;
pub(crate) mod writes;
