//! `inventory`: selling stock.

mod settings;
mod shown;

pub use settings::InventorySpec;
pub(super) use settings::{ROW, examples, read};
