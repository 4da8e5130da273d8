use std::collections::BTreeMap;

use super::super::paint::{Paint, Tone};
use super::super::table::{Cell, Column, Table};
use lockstorm_run::oracle::past::ArmHolds;

/// What the holds of each arm prove.
pub fn render_judgements(arms: &BTreeMap<String, ArmHolds>, paint: Paint) -> String {
    let columns: [Column<(&String, &ArmHolds)>; 5] = [
        ("arm", |(name, _)| Cell::plain(*name)),
        ("holds", |(_, found)| Cell::plain(found.holds.to_string())),
        ("double holds", |(_, found)| match found.double_holds {
            0 if found.beliefs == 0 => Cell::plain("–"),
            0 => Cell::plain("0"),
            some => Cell::new(Tone::Bad, format!("✖ {some}")),
        }),
        ("double uses", |(_, found)| {
            found
                .double_uses
                .map_or_else(Cell::none, |uses| Cell::plain(uses.to_string()))
        }),
        ("cut off", |(_, found)| Cell::plain(found.cut_off.to_string())),
    ];
    Table::of(&columns, &arms.iter().collect::<Vec<_>>()).render(paint)
}
