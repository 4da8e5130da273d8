//! `lockstorm record`.

mod choose;
mod history;
mod judge;
mod show;

pub use choose::record;
