//! Two groups of runs, or two arms: what differs, by how much, and how sure that is.
//!
//! `figure` is what is compared, `differing` in which settings runs differ, `ranks` the exact tests, `parts` cuts one run into parts
//! for two of its arms, `significance` says what counts as shown, `machine` whether the machine was to blame, and `comparison` puts it together. Pure.

mod comparison;
mod differing;
mod figure;
mod machine;
mod parts;
mod ranks;
mod significance;

pub use comparison::{Comparison, Row, Spread, Unit};
pub use differing::{Differing, Setting};
pub use figure::{Compared, NoValue, OfAPart};
pub use machine::{MachineDiffers, Sign};
pub use significance::fewest;
