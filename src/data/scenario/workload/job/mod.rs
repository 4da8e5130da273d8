//! `job`: jobs that a schedule starts on all app servers at once, and that are to run once a tick.

mod shown;
mod spec;
mod warnings;

pub use spec::JobSpec;
pub(super) use spec::{ROW, read};
pub(in super::super) use warnings::warnings;
