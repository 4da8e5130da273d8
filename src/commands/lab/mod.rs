//! `lockstorm lab`.

mod act;
mod choose;
mod cli;
mod down;
mod status;
mod up;
mod words;

pub use choose::lab;
use choose::{failure, no_answer};
