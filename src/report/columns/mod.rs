//! The catalogue of columns, for the summary's tables and the console's: a title for each, and how an arm's cell is made.

mod arm;
mod cache_fill;
mod cell;
mod column;
mod inventory;
mod judged;
mod load;
mod locks;
mod rows;

pub(crate) use arm::Arm;
pub(super) use cache_fill::CACHE_FILL;
pub(crate) use cell::cell;
pub(crate) use column::{Column, heads};
pub(super) use inventory::INVENTORY;
pub(super) use inventory::orders;
pub(super) use load::LOAD;
pub(super) use locks::{LOCKS, SECTIONS};
pub(super) use rows::table;
