//! Sentinels: what each of them says of the master, and where the master is by all that they say.

mod heard;
mod opinions;
mod question;
pub(crate) mod watcher;
