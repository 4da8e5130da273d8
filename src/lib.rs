//! Lockstorm: a chaos lab and benchmark suite for distributed locks on Redis.
//!
//! # Map
//!
//! - `main.rs`, `cli.rs`, `commands/`, `failure.rs`, `exit_code.rs`, `log.rs`: the binary: parse, dispatch, a file for each
//!   command, which maps its outcome to an exit code
//! - `deeds.rs`: the orders of `lockstorm lab` that break and mend, made from the table of faults
//! - `console/`: the terminal app: pure state, one key table, themes, a file for each panel; `orders` (what keys have
//!   ordered and the run has not done yet), `samples` (what a chart draws), `stuck` (why an arm is stuck), `ttls` (what
//!   sections say of other TTLs), `ascii`; of a record `replay` (the instant), `scrub` (its keys), `past` and `past_figures` (what was
//!   shown then)
//! - `report/`: a record or a bench as text, the record's file, and the one that comes with the program (`demo`). `columns/` makes the cells of all tables of arms,
//!   the summary's (`tables`) and the console's: most show a figure as `metrics/metric` describes it, the others have a
//!   function (`locks`, `load`, `inventory`). `judged` says whether a figure is good, poor, damage (the red ✖) or proves
//!   nothing, the same for print, table, scoreboard and bars. `sentence` sums up what an arm did; `plot` draws the curves of
//!   plans and sweeps; `history/` has the formats of other judges, a file for each, from a `whole` history;
//!   `lanes/` shows a double hold: the `picture` as plain data, drawn as `text` and `svg`, and the `story` in sentences
#![forbid(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

pub mod console;
pub mod report;
