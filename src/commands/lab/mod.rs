//! `lockstorm lab`.

mod act;
mod choose;
mod down;
mod log;
mod refused;
mod status;
mod text;
mod up;

pub use choose::lab;
