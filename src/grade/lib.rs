//! Lock clients in any language, graded under the same faults: short acts on fresh labs, and a letter for each.
//!
//! # Map
//!
//! - `act`: the table of acts, each with its scenario and what is asked of the client in it
//! - `criterion`: what is asked, as functions of what a run has found; a `reason` is the answer if something is wrong, and says which `letter`
//!   follows from it
//! - `subject`: who is graded: another program, or one of this program's own locks
//! - `play`: plays the acts by the one engine of runs; `grades` is the result
//! - `check`: talks with a client and explains what is wrong with it
//!
//! # Rules, and why
//!
//! - **A letter has a reason.** Whoever reads a C must see what happened, and how often.
//! - **What was not shown is no letter.** A fault without effect, a busy machine, or a client that ended gives a question mark.
//! - **Two holders that the loss of keys explains are not the client's fault.** They cost a letter all the same: its user has them.
#![warn(missing_docs)]

mod act;
mod check;
mod criterion;
mod grades;
mod letter;
mod play;
mod reason;
mod subject;

pub use act::names;
pub use check::{Checked, check};
pub use grades::{Grade, Grades};
pub use letter::Letter;
pub use play::grade;
pub use reason::Reason;
pub use subject::Subject;
