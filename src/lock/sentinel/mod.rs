//! Sentinels: what each of them says of the master, and where the master is by all that they say.

pub(crate) mod following;
mod heard;
mod opinions;
mod question;
mod watcher;
