//! `inventory`: selling stock.

mod settings;
mod shown;
mod warnings;

pub use settings::InventorySpec;
pub(super) use settings::{ROW, read};
pub(in super::super) use warnings::warnings;
