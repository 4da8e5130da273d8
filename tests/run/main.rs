//! Runs on real servers: what they command, count, judge and record, and how they end.

mod clients;
mod command;
mod comparisons;
mod databases;
mod endings;
mod etcd;
mod faulty_io;
mod history;
mod journal;
mod live;
mod machine;
mod secrets;
mod story;
mod sweep;
mod validation;
mod verdicts;
mod ways_out;
