//! The columns about the load, for every workload.

use super::arm::Arm;
use crate::report::paint::Tone;
use crate::report::table::Cell;
use lockstorm_data::metrics::Column::{AfterTheEnd, Figure, FinishedAt};
use lockstorm_data::metrics::Metric;
use lockstorm_data::metrics::Shown::{self, Always, IfAny};
use lockstorm_data::metrics::units::short_rate;

/// The columns about the load.
pub(crate) const LOAD: &[Shown] = &[
    Always(Figure(Metric::Offered)),
    Always(Figure(Metric::Completed)),
    IfAny(Figure(Metric::Dropped)),
    IfAny(Figure(Metric::Unfinished)),
    IfAny(Figure(Metric::NeverBegun)),
    Always(Figure(Metric::Throughput)),
    IfAny(Figure(Metric::SoldPerSecond)),
    IfAny(Figure(Metric::SoldOutPerSecond)),
    IfAny(Figure(Metric::GaveUp)),
    IfAny(AfterTheEnd),
    IfAny(FinishedAt),
    Always(Figure(Metric::Late)),
    Always(Figure(Metric::ResponseP50)),
    Always(Figure(Metric::ResponseP99)),
    Always(Figure(Metric::ServiceP50)),
    Always(Figure(Metric::ServiceP99)),
    Always(Figure(Metric::LagP99)),
    IfAny(Figure(Metric::Fenced)),
    IfAny(Figure(Metric::Errors)),
];

pub(super) fn finished_at(arm: &Arm<'_>) -> Cell {
    let finish = arm.figures.finish;
    finish.map_or_else(|| Cell::plain("0"), |finish| Cell::plain(format!("{finish:.1} s")))
}

pub(super) fn throughput_now(arm: &Arm<'_>) -> Option<Cell> {
    let now = arm.now?;
    Some(if now.done {
        Cell::new(Tone::Faint, "done")
    } else if arm.figures.sold_out_all {
        // Buyers who find nothing left are quick, so their rate compares with no other.
        Cell::new(Tone::Faint, "sold out")
    } else {
        Cell::plain(short_rate(now.live.per_second))
    })
}
