//! The cells of `inventory` that need more than a number.

use super::arm::Arm;
use super::judged::judged;
use crate::report::paint::Tone;
use crate::report::table::Cell;
use lockstorm_data::metrics::{Figures, Group, Metric};

/// The orders of an arm, or those of one of its app servers.
pub(in crate::report) fn orders(arm: &Arm<'_>, orders: u64) -> Cell {
    if arm.figures.incomplete {
        Cell::new(Tone::Doubt, format!("≥ {}", arm.count(orders)))
    } else {
        Cell::plain(arm.count(orders))
    }
}

/// Until the stock is sold out, overselling can't show, but lost updates do. The console has no room to say so in each
/// row, so the title of its table does.
pub(super) fn oversold(arm: &Arm<'_>) -> Option<Cell> {
    let figures = arm.figures;
    // If the books were not read to their end, it is not known whether the stock is sold out.
    if arm.is_narrow || Metric::Oversold.is_proven(figures) || figures.sold_out_all || figures.incomplete {
        return judged(Metric::Oversold, arm);
    }
    Some(match is_damaged(figures) {
        true => Cell::new(Tone::Doubt, "? not sold out"),
        false => Cell::plain("0, not sold out"),
    })
}

fn is_damaged(figures: &Figures) -> bool {
    Metric::proven(figures).any(|damage| damage.row().group == Group::Inventory)
}

/// The upper bound of a zero: none in n orders means fewer than 3 in n, at 95 % confidence (the rule of three).
pub(super) fn bound(arm: &Arm<'_>) -> Option<Cell> {
    let figures = arm.figures;
    let orders = Metric::Orders.of(figures);
    (!is_damaged(figures) && orders > 3.0 && !arm.is_doubted()).then(|| Cell::plain(format!("{:.2} %", 300.0 / orders)))
}
