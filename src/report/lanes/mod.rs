//! The evidence of a double hold: who held, what the nodes lost, and who came in.

mod picture;
mod story;
mod svg;
mod text;

pub use svg::svg;
pub use text::text;
