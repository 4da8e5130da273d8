//! A history in the formats of other checkers.

mod checker;
mod elle;
mod knossos;
mod order;
mod porcupine;
#[cfg(test)]
mod tests;
mod whole;

pub use checker::{Checker, export};
