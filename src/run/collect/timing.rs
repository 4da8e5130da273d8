use std::sync::Arc;
use std::time::Instant;

use crate::close::record::SecondZero;
use lockstorm_data::metrics::Timeline;

/// The clock of a run.
#[derive(Debug)]
pub(crate) struct Timing {
    /// Second 0 and the end, for everything that counts.
    pub timeline: Arc<Timeline>,
    /// When the measured part began, or will begin.
    pub origin: Instant,
    /// `origin` by the clocks of the machine, once the load has begun.
    pub second_zero: Option<SecondZero>,
}
