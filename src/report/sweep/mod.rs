//! A sweep as a table and a picture.

mod plot;
mod text;

pub use text::render_sweep;
