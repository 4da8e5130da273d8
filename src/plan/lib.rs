//! Choosing a TTL: for each TTL and renewal interval, what it risks, what it costs and how long it blocks others after a
//! crash.
//!
//! [`sweep`] plays a scenario with other settings, [`recipes`] searches for what makes two hold one lock, and [`validation`] holds
//! the simulation against real nodes. Nothing here draws or prints: it must not know the console, reports or commands. `overrun` is where
//! P(overrun) of a setting comes from.
//!
//! All times are in seconds unless a name says otherwise. [`formulas`] has the closed forms, each with its source;
//! [`Question`] says what is known of the work, of the network and of what goes wrong; [`Plan::of`] puts both
//! together, a row for each [`Setting`].
//!
//! # Map
//!
//! - files here: which TTL: `question` (what is known), `setting`, `answer` with a `row` for each setting (what is to
//!   be expected of it) and a `choice`, and `grid` (the settings worth a look); `spread` is how long something takes, assumed or `measured` with a fitted
//!   `tail`; `formulas` are the closed forms with their sources, `overrun`, `renewed` and `elapsed` sums over distributions
//!   (`bins`), `simulate` plays sections in the engine's virtual world, with `surroundings` (clients that share locks
//!   and crash, nodes that crash) on all processors (`worlds`), `replay` does so with the faults of a record
//!   (`compared` with what was real),
//!   `predicted` says what a run should show, `scenario` makes one of it, `read/` what files, records, measurements and
//!   the command line say, `snippets` the settings for other clients, which the tests in `waiters` play by each client's
//!   own rule. Pure but for the files
//! - `validation`: whether the simulation tells the truth: a `stage` is played on real nodes, `seen` is what its record
//!   says, `comparison` plays the same in virtual time from what was measured, `agreement` has the statistics, `table`
//!   the cells and the control with a planted error
//! - `compare`: two groups of runs, or two arms, figure by figure: exact tests over runs, never over requests. Pure
//! - `recipes`: how two come to hold one lock: `fault` and `schedule` (what goes wrong; permuted nodes are one
//!   schedule), `play` (a schedule in the engine's virtual world), `search` (breadth first, the shortest of each
//!   `recipe`'s kind), `law` (votes − f, which explains what was found, and which the tests compare), `steps` (in
//!   words), `scenario` (a file for real nodes, and its control), `described`. Pure
//! - `sweep`: a scenario played with other settings: `axis`, `cell` and `grid` (what is played), `journal` (the file
//!   that keeps each result), `outcome`, `tradeoff` (repeats summed up), `search` (the largest value that a condition
//!   allows)
#![warn(missing_docs)]

pub mod compare;
pub mod recipes;
pub mod sweep;
pub mod validation;

mod answer;
mod bins;
mod chance;
mod choice;
mod client_timeouts;
mod compared;
mod draws;
mod elapsed;
mod error;
pub mod formulas;
mod grid;
mod measured;
mod overrun;
mod pauses;
mod predicted;
mod question;
mod read;
mod renewed;
mod replay;
mod row;
mod scenario;
mod seconds;
mod setting;
mod several;
mod simulate;
mod simulated;
mod snippets;
mod spread;
mod surroundings;
mod tail;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod waiters;
mod wish;
mod worlds;

pub use answer::Plan;
pub use chance::{Basis, Chance};
pub use choice::{Choice, Why};
pub use client_timeouts::ClientTimeouts;
pub use compared::Compared;
pub use error::PlanError;
pub use measured::Measured;
pub use pauses::{Outages, Pauses};
pub use predicted::Predicted;
pub use question::{Goal, LEAST_PAUSE, Question, Risk};
pub use read::{
    FromMeasurement, FromRecord, HoldsOptions, HoldsPart, HoldsRead, MOST_SECTIONS, TimeUnit, UnitBy, clock_jumps,
    extent, happening, holds_of_file, holds_of_record, measurement_of_file, network, node_crashes, outages, pauses,
    per_second, risk, spread,
};
pub use replay::{Played, Replay, Replayed};
pub use row::{Row, Shortfall};
pub use scenario::{Written, scenario};
pub use seconds::MAX_SECONDS;
pub use setting::{Renewal, Setting, settings};
pub use simulate::{Extent, sample, simulate};
pub use simulated::{Simulated, Takeovers};
pub use snippets::{Snippet, snippets};
pub use spread::Spread;
pub use surroundings::{ClockJumps, NodeCrashes, Surroundings};
pub use wish::Wish;
