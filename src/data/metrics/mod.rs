//! What was measured: recorders on the hot path, the figures of an arm with the table that describes them, and time series
//! of a fixed size.

pub mod by_name;
mod column;
mod consequence;
mod counts;
mod durations;
mod expiries;
mod fields;
mod figures;
mod grants;
mod group;
mod histogram;
mod ledger;
mod measurement;
mod metric;
mod pages;
mod phase;
mod point;
mod recorder;
mod restart;
mod round_trips;
mod series;
mod sums;
mod timeline;
pub mod units;

pub use column::{Column, Shown};
pub use consequence::{Consequence, ConsequenceKind};
pub use counts::{Count, Counts};
pub use durations::Durations;
pub use expiries::Expiries;
pub use figures::{Figures, HitsPerExpiry, NodeLoad, Outage, ServerLoad};
pub use grants::Grants;
pub use group::Group;
pub use histogram::{HistogramText, Latency, NotAHistogram, Quantile, Quantiles, histogram, in_micros, in_nanos};
pub use ledger::{Entries, Entry, KnownEntries, OrdersOf};
pub use measurement::{Clock, ClockRate, MeasuredClock, MeasuredNode, MeasuredTimes, Measurement};
pub use metric::{Alarm, Evidence, Metric, NO_OUTAGE, Row, Unit, Value, figure};
pub use phase::PhaseTimes;
pub use point::Point;
pub use recorder::{
    Batch, Counter, DamagedList, Newest, ProviderCall, Recorder, StalledFill, Tally, Watched, WatchedGrant,
};
pub use restart::{restart_delay, systemd_lines};
pub use round_trips::RoundTrips;
pub use series::{RecentTenths, Series};
pub use sums::{Latencies, Sums, Time, Times, Votes};
pub use timeline::{Part, Timeline, When};
