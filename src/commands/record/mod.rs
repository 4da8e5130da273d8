//! `lockstorm record`.

mod choose;
mod history;
mod judge;
mod schema;
mod show;

pub use choose::record;
