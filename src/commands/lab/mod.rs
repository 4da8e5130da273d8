//! `lockstorm lab`.

mod act;
mod choose;
mod down;
mod refused;
mod status;
mod up;
mod words;

pub use choose::lab;
