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
pub use series::{Point, Series};
pub use snapshot::{ArmView, HostStatus, HostView, Knobs, NodeFigures, Phase, ServerStatus, ServerView, Snapshot};
