//! The keeper: lockstorm run again, or `lockstorm-keeper`, as a small process in a session of its own, which starts every server of a lab.
//!
//! It reads requests from stdin and reports events on stdout, one JSON message per line. When lockstorm ends in any way,
//! even by SIGKILL, that stdin closes; the keeper then kills what it started, removes the run's keys from servers that are not
//! ours, removes the run directory and ends. All servers are started by its main thread, because `PR_SET_PDEATHSIG`, which ends
//! the servers if the keeper itself is killed (Linux), fires when the *thread* that started them ends.

mod children;
mod program;
mod removal;
mod watched;
mod witness;

pub use self::program::{ARGUMENT, main};
pub(super) use self::watched::REMOVAL;
