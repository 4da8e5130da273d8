//! Values that are written as a word, a duration or a table. Each has a file that reads and writes it.

pub(super) mod popularity;
pub(super) mod renew;
pub(super) mod service_time;
pub(super) mod wait;
