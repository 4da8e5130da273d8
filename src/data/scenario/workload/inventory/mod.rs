//! `inventory`: selling stock.

mod shown;
mod spec;
mod warnings;

pub use spec::InventorySpec;
pub(super) use spec::{ROW, read};
pub(in super::super) use warnings::warnings;
