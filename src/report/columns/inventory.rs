//! What became of the stock.

use super::arm::Arm;
use super::column::Column::{Bound, Figure};
use super::column::Shown::{self, Always};
use super::judged::damage;
use crate::metrics::Metric;
use crate::report::paint::Tone;
use crate::report::table::Cell;

/// What became of the stock.
pub(crate) const INVENTORY: &[Shown] = &[
    Always(Figure(Metric::Orders)),
    Always(Figure(Metric::SoldOut)),
    Always(Figure(Metric::LostUpdates)),
    Always(Figure(Metric::Oversold)),
    Always(Bound),
];

/// Orders of an arm, all of them or those of one app server.
pub(in crate::report) fn orders(arm: &Arm<'_>, orders: u64) -> Cell {
    if arm.figures.incomplete {
        Cell::new(Tone::Doubt, format!("≥ {}", arm.count(orders)))
    } else {
        Cell::plain(arm.count(orders))
    }
}

/// The net count, and its peak where it was more.
pub(super) fn lost_updates(arm: &Arm<'_>) -> Cell {
    let (now, peak) = (arm.figures.lost_updates, arm.figures.lost_updates_peak);
    if arm.figures.incomplete {
        return damage(arm, peak);
    }
    if peak > now {
        let text = format!("✖ {} (peak {})", arm.count(now), arm.count(peak));
        return Cell::new(Tone::Bad, text);
    }
    damage(arm, now)
}

/// While units are left overselling cannot show, but the updates that would lead to it do.
pub(super) fn oversold(arm: &Arm<'_>) -> Cell {
    let figures = arm.figures;
    match (figures.oversold, arm.sold_out) {
        // Whether it is sold out is not known.
        (0, _) if figures.incomplete => damage(arm, 0),
        (0, false) if figures.lost_updates == 0 => Cell::plain("0, not sold out"),
        (0, false) => Cell::new(Tone::Doubt, "? not sold out"),
        (oversold, _) => damage(arm, oversold),
    }
}

/// Beside zeros their upper bound: none in n orders means fewer than 3 in n, at 95 % confidence (the rule of three).
pub(super) fn bound(arm: &Arm<'_>) -> Option<Cell> {
    let figures = arm.figures;
    let none = figures.oversold == 0 && figures.lost_updates_peak == 0 && figures.orders > 3 && !arm.is_doubted;
    none.then(|| Cell::plain(format!("{:.2} %", 300.0 / figures.orders as f64)))
}
