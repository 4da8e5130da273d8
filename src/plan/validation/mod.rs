//! Does the simulation tell the truth? Sections on real nodes, and the same in virtual time, side by side.
//!
//! A [`Stage`] is played on real nodes and gives a [`Seen`] for each of its locks. The simulation is fed with the holds, the
//! acquires and the pauses that were measured there, and nothing else; a [`Comparison`] says how far the two agree.
//!
//! Nodes draw their round trips independently in virtual time. The lab's nodes share a machine and are slow together, so the
//! measured round trips would make quorums too late; the simulation draws those that give the measured acquires instead.

mod agreement;
mod comparison;
mod seen;
mod stage;
mod table;

pub use agreement::{Difference, Distance, Likeness};
pub use comparison::{Comparison, Fed, compare};
pub use seen::{Seen, seen};
pub use stage::{Breaks, PlayedLock, Stage, quick, whole};
pub use table::Validation;
