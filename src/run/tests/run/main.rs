//! Runs on real servers, without the program: what the parts of a run do, what a run counts, and the built-in scenarios.

mod busy;
mod failovers;
mod judges;
mod play;
mod store;
mod witness;
mod workload;
