//! What is known, read from the command line, from files and from records.

mod arguments;
mod csv;
mod hgrm;
mod holds;
mod holds_read;
mod length;
mod lines;
mod measurement;
mod prometheus;
mod record;
mod unit;

pub use arguments::{
    MOST_SECTIONS, clock_jumps, extent, happening, network, node_crashes, outages, pauses, per_second, risk, spread,
};
pub use holds::holds_of_file;
pub use holds_read::{HoldsOptions, HoldsPart, HoldsRead};
pub use measurement::{FromMeasurement, measurement_of_file};
pub(crate) use record::sum;
pub use record::{FromRecord, of_record as holds_of_record};
pub use unit::{TimeUnit, UnitBy};
