//! The evidence of a double hold: who held, what the nodes lost, and who came in.

mod picture;
mod shown;
mod story;
mod svg;
mod text;

pub(super) use picture::{Kind, Picture};
pub use shown::ShownHold;
pub(super) use svg::lanes;
pub use svg::svg;
pub(crate) use text::in_columns;
pub use text::text;
