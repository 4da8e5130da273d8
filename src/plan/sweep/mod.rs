//! One scenario, played again with other settings: each setting on real nodes, with the same seeds and faults.
//!
//! A [`Grid`] lists the [`Cell`]s, a [`Journal`] is the file that keeps each result as it comes, so that an interrupted sweep
//! goes on, and [`Tradeoff`] sums up the repeats. A [`Search`] looks for the largest value that a condition allows.

mod axis;
mod cell;
mod grid;
mod journal;
mod outcome;
mod search;
mod start;
mod tradeoff;

pub use axis::{Axis, position};
pub use cell::{Cell, OF_THE_FILE};
pub use grid::{Grid, MOST_CELLS};
pub use journal::{Journal, JournalError};
pub use outcome::{ArmOutcome, Outcome};
pub use search::{Search, all_held, while_expectations};
pub use start::{Scale, start};
pub use tradeoff::{Takeover, Tradeoff, tradeoffs};
