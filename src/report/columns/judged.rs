use super::arm::Arm;
use crate::report::paint::Tone;
use crate::report::table::Cell;

/// A count of damage; a zero is praised if it proves something.
pub(super) fn damage(arm: &Arm<'_>, n: u64) -> Cell {
    match (n, arm.is_doubted) {
        (0, false) => Cell::new(Tone::Good, "✔ 0"),
        // It could not have shown.
        (0, true) => Cell::new(Tone::Doubt, "? 0"),
        _ if arm.figures.incomplete => Cell::new(Tone::Bad, format!("✖ ≥ {}", arm.count(n))),
        _ => Cell::new(Tone::Bad, format!("✖ {}", arm.count(n))),
    }
}
