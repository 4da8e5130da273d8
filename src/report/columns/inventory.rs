//! What became of the stock, where a figure is more than its number.

use super::arm::Arm;
use super::judged::judged;
use crate::metrics::Metric;
use crate::report::paint::Tone;
use crate::report::table::Cell;

/// Orders of an arm, all of them or those of one app server.
pub(in crate::report) fn orders(arm: &Arm<'_>, orders: u64) -> Cell {
    if arm.figures.incomplete {
        Cell::new(Tone::Doubt, format!("≥ {}", arm.count(orders)))
    } else {
        Cell::plain(arm.count(orders))
    }
}

/// While units are left overselling cannot show, but the updates that would lead to it do. In the console, which has no room to
/// say so in each row, the legend above the table does.
pub(super) fn oversold(arm: &Arm<'_>) -> Option<Cell> {
    let figures = arm.figures;
    // Whether it is sold out is not known of books that were not read to their end.
    if arm.is_narrow || figures.oversold > 0 || figures.sold_out_all || figures.incomplete {
        return judged(Metric::Oversold, arm);
    }
    Some(if Metric::LostUpdates.is_proven(figures) {
        Cell::new(Tone::Doubt, "? not sold out")
    } else {
        Cell::plain("0, not sold out")
    })
}

/// Beside zeros their upper bound: none in n orders means fewer than 3 in n, at 95 % confidence (the rule of three).
pub(super) fn bound(arm: &Arm<'_>) -> Option<Cell> {
    let figures = arm.figures;
    let none = figures.oversold == 0 && figures.lost_updates_peak == 0 && figures.orders > 3 && !arm.is_doubted;
    none.then(|| Cell::plain(format!("{:.2} %", 300.0 / figures.orders as f64)))
}
