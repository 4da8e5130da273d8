//! `lockstorm lab`.

mod act;
mod choose;
mod down;
mod log;
mod play;
mod refused;
mod status;
mod text;
mod up;

pub use choose::lab;
