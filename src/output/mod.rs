//! The ways out of the program that nobody may be reading: standard output and error, pipes and devices; and files that are
//! replaced whole or not at all.

mod replace;
mod stream;

pub use replace::{create, foreign_link, replace, try_replace};
pub use stream::{PATIENCE, Stream, stderr, stdout};
