//! The plain data that all packages of Lockstorm pass to each other: what can break and what happened ([`model`]), what was
//! measured ([`metrics`]), who held which lock ([`history`]), and the file that describes a run ([`scenario`]).
//!
//! It knows nothing of runtimes, servers or databases: neither tokio nor redis nor sqlx is used here. Everything is read,
//! checked, computed and written as text or JSON.
//!
//! # Map
//!
//! - `scenario`: the file format, its errors, overrides, the built-in files. `keys.md` (a page of the docs) has every key with its
//!   form and what stands for it when it is left out; the `reader` takes limits and defaults from it (`Reader::listed`), and so does the JSON
//!   `schema`; `read/` has a file for each part of a scenario. `words`: an enum's variants are the words
//!   of the format; `lock`: a row for each kind of lock; `applicable`: which keys an arm may have; `node_url` and
//!   `database_url` keep passwords apart; `workload/`: a folder for each workload, with everything that the rest of the
//!   program asks of it (`kind` is that interface); in `shown`, what the report and the console show of it:
//!   columns, lanes, bars, verdicts, the clauses of its sentence; and in `warnings`, what its author should know; `forms`: values that can be a word, a duration or a
//!   table
//! - `metrics`: `metric`: the table of figures, a row for each, with its title and what it means that it is not zero
//!   (`tests/products/figures.rs` compares the table of docs/figures.md with it); `consequence`: what faults meant for an arm's locks, with its
//!   words; `column`: what can stand in a column; `counts` and `sums`: plain counts and
//!   times, each one array from the recorder to the record (`fields`); the timeline (second 0, the end), recorders, figures,
//!   series; `measurement`: what was measured of the user's own servers, the file that a plan reads
//! - `history`: what holders of locks did: a `holder`, and the evidence of a `double_hold`; a history as a file: each `operation`, its
//!   `reader` (by `lines`), and the `section`s that operations make up; an `event` that another program reports, and the history that
//!   events make up (`reported`)
//! - `facts`: events and caveats of a run as data; `words` makes their English, which nothing reads back
//! - `model`: ids, outcomes, and `fault/`: the tables of the kinds of fault and of the conditions that they
//!   bring, with their targets, the obstacles to an action, its undo, and the proof of its effect. `std`, `serde` and
//!   `strum` only
//!
//! # Rules, and why
//!
//! - **Bad input starts nothing.** A scenario is read whole and all its errors are reported at once, before any process
//!   starts.
#![warn(missing_docs)]

pub mod facts;
pub mod history;
pub mod metrics;
pub mod model;
pub mod scenario;
