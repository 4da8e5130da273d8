//! `lockstorm plan`: choose a TTL.

mod answer;
mod interrupt;
mod made;
mod progress;
mod replay;
mod validate;
mod virtually;

pub use answer::plan;
