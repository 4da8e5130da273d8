use super::arm::Arm;
use super::cell::cell;
use super::heads::heads;
use crate::report::table::{Cell, Table};
use lockstorm_data::metrics::{Column, Shown};

/// A table with these columns, and a row for each arm.
pub(crate) fn table(title: &str, columns: &[Shown], arms: &[Arm<'_>]) -> Table {
    let shown = columns.iter().filter(|shown| is_worth_it(**shown, arms));
    let columns: Vec<Column> = shown.map(|shown| shown.column()).collect();
    let mut head = vec![title.to_owned()];
    head.extend(heads(columns.iter().copied()));
    let row = |arm: &Arm<'_>| {
        let mut cells = vec![Cell::plain(arm.name)];
        cells.extend(
            columns
                .iter()
                .map(|column| cell(*column, arm).unwrap_or_else(Cell::none)),
        );
        cells
    };
    Table {
        head,
        rows: arms.iter().map(row).collect(),
    }
}

fn is_worth_it(shown: Shown, arms: &[Arm<'_>]) -> bool {
    let is_zero = |cell: Cell| matches!(cell.text.as_str(), "0" | "0.0" | "✔ 0" | "? 0");
    match shown {
        Shown::Always(_) => true,
        Shown::IfAny(column) => !arms.iter().filter_map(|arm| cell(column, arm)).all(is_zero),
    }
}
