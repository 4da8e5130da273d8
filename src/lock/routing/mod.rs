//! A cluster: which of its masters has a key, and the connections to them.

mod redirection;
pub(crate) mod router;
pub(crate) mod slot;
pub(crate) mod surveyor;
mod table;
mod view;
