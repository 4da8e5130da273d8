//! What the project ships beside the program: examples, the atlas, the set-up, the table of figures, seeds of the fuzzers, the order of its rooms.

mod atlas;
mod docs;
mod examples;
mod figures;
mod fuzz_seeds;
mod layers;
mod old_records;
mod setup;
