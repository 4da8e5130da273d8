//! What was measured: recorders on the hot path, figures of an arm, fixed-size time series, the snapshot.

mod expiries;
mod figures;
mod recorder;
mod series;
mod snapshot;
pub mod units;

pub use expiries::Expiries;
pub use figures::{Figures, HitsPerExpiry, Quantiles};
pub use recorder::{Count, ProviderCall, Recorder, Tally, histogram};
pub use series::{Beat, Point, Series, Trace};
pub use snapshot::{
    ArmView, Health, HostStatus, HostView, Knobs, Live, NodeFigures, Phase, ServerStatus, ServerView, Snapshot,
};
