//! Runs on real servers: what they command, count, judge and record, and how they end.

mod busy;
mod command;
mod databases;
mod endings;
mod failovers;
mod faulty_io;
mod live;
mod play;
mod secrets;
mod store;
mod sweep;
mod validation;
mod ways_out;
mod witness;
mod workload;
