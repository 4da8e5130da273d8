//! The cells of all tables of arms, in the summary and in the console, and the columns that every workload has.

mod arm;
mod cell;
mod heads;
mod inventory;
mod judged;
mod load;
mod locks;

pub(crate) use arm::Arm;
pub(super) use cell::table;
pub(crate) use cell::{cell, is_nothing};
pub(crate) use heads::heads;
pub(super) use inventory::orders;
pub(crate) use judged::{DAMAGE, Mark, OPEN, badge, judge, marked, sign, written};
pub(super) use load::LOAD;
pub(super) use locks::{HOLDS, LOCKS, SECTIONS, none_of};
