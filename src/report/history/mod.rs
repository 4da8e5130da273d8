//! A history in the formats of other checkers, and what our own judge says of one.

mod checker;
mod elle;
mod judged;
mod knossos;
mod order;
mod porcupine;
#[cfg(test)]
mod tests;
mod whole;

pub use checker::{Checker, export};
pub use judged::render_judgements;
