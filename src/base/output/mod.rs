//! Output to standard output and error, pipes and devices, which perhaps nobody reads; and files that are replaced whole or not
//! at all.

mod replace;
mod stream;

pub use replace::{begin, create, foreign_link, replace, try_replace};
pub use stream::{READER_TIMEOUT, Stream, stderr, stdout};
