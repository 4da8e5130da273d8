//! What a run proves of its locks: one pure function, [`judge`], from [`Evidence`] to a [`Judgement`].
//!
//! A live snapshot, a record, a journal and reported events are each turned into evidence by whoever has them, so that the console, the
//! summary, reports and exit codes reach the same conclusion from the same facts. This package knows neither runs nor reports.
//!
//! - `outcome`: where a lock becomes held or broken, or is not shown to be either
//! - `doubt`: which caveats cast doubt on which arms, and what they leave standing: where a doubt outweighs a bound
//! - `expectation`: the results of the scenario's `[expect]`
//! - `mark`: what one figure says for or against its arm, and so where an arm is poor
//! - `cause`: why an arm fared as it did
//! - [`law`]: the ruling on a double hold: whether keys that were lost explain it
//! - `conclusion`: what that means for the whole run; the command line makes an exit code of it (`exit_code`)
//!
//! # Rules, and why
//!
//! - **Doubts are a set.** Each leaves some results standing (damage, an upper bound that is broken, what can't change any more, what held,
//!   or none); a result counts only if all of them leave it. What the machine's own stalls explain is subtracted, and a result that then
//!   differs is inconclusive.
//! - **What was not shown is not held.** Without contention, without a fault that tested a lock, or with a figure that could not show damage,
//!   a zero proves nothing.
//! - **Damage stands.** It is in the ledger, and what is lost or fails later does not undo it, unless the clock stepped or the run stalled.
#![warn(missing_docs)]

mod cause;
mod conclusion;
mod doubt;
mod evidence;
mod expectation;
pub mod law;
mod mark;
mod outcome;
#[cfg(test)]
mod tests;

pub use cause::Cause;
pub use conclusion::{Judgement, judge};
pub use doubt::{busy, failed, rate_not_kept, shared, untested};
pub use evidence::{ArmEvidence, Evidence, Stage};
pub use mark::Mark;
pub use outcome::{ArmJudgement, Outcome, is_control};
