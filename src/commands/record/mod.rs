//! `lockstorm record`.

mod choose;
mod history;
mod judge;

pub use choose::record;
