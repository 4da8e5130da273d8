//! What the project ships beside the program: examples, the set-up, the table of figures, seeds of the fuzzers, the order of its rooms.

mod docs;
mod examples;
mod figures;
mod fuzz_seeds;
mod layers;
mod setup;
