//! What was measured: recorders on the hot path, figures of an arm, fixed-size time series, the snapshot.

mod expiries;
mod figures;
mod pages;
mod recorder;
mod series;
mod snapshot;
mod spread;
mod sums;
mod timeline;
pub mod units;

pub use expiries::Expiries;
pub use figures::{ByOutcome, Figures, HitsPerExpiry, NodeLoad, Quantiles, ServerLoad};
pub use recorder::{Counter, DamagedList, Newest, Piece, ProviderCall, Recorder, Tally};
pub use series::{Beat, Point, Series, Trace};
pub use snapshot::{
    ArmView, Health, HostStatus, HostView, Knobs, Live, NodeFigures, Phase, ServerStatus, ServerView, Snapshot,
};
pub use spread::Spread;
pub use sums::{Count, Sums, Time, Votes, histogram};
pub use timeline::{Part, Timeline, When};
