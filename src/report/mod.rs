//! What is made of a record: a summary as text, and the record's own file.

mod bench;
mod columns;
mod file;
mod paint;
mod pen;
mod progress;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub use bench::render_bench;
pub use file::{FileError, RecordFile};
pub use paint::Paint;
pub use progress::{Progress, is_dumb};
pub use text::{render, summary};
