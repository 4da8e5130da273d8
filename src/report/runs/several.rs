//! Several settings: which lock held with which, what differs between them, and then each by itself.

use maud::html;

use super::group::Runs;
use super::html::{runs_page, script, sheets, title};
use super::text::runs_text;
use super::verdicts::verdict_table;
use crate::report::comparison::{brief, notes, render_comparison, said, table};
use crate::report::page::{cards, class, page, tabled};
use crate::report::paint::Paint;
use crate::report::table::{Cell, Table};
use lockstorm_data::model::printable;
use lockstorm_plan::compare::Comparison;

/// The page of these settings, each with its name and its runs, and of what was compared. There is at least one setting.
///
/// # Errors
/// A record has a text that is no histogram, or a chart could not be drawn, which is a bug.
pub fn settings_page(settings: &[(String, Runs)], comparisons: &[Comparison]) -> Result<String, String> {
    let first = match settings {
        [] => return Ok(String::new()),
        [(_, only)] => return runs_page(only),
        [(_, first), ..] => first,
    };
    let each = settings.iter().map(|(name, runs)| Ok((name, sheets(runs)?)));
    let each: Vec<_> = each.collect::<Result<_, String>>()?;
    let body = html! {
        section {
            h1 { (printable(&first.scenario().title)) }
            @for (tone, sentence) in comparisons.iter().flat_map(said) {
                p class={ "verdict " (class(tone)) } { span { (sentence) } }
            }
            h2 { "In how many runs each lock held" }
            (cards(&held(settings)))
            @for comparison in comparisons {
                h2 { (printable(&comparison.sides[1])) " against " (printable(&comparison.sides[0])) }
                (cards(&brief(comparison)))
                details { summary { "the numbers" } (tabled(&table(comparison, false))) }
                @for (title, lines) in notes(comparison) {
                    p.made { strong { (title) } @for line in lines { br; (line) } }
                }
            }
        }
        @for (name, sheets) in &each {
            section { h1 { (printable(name)) } }
            (sheets)
        }
        (script())
    };
    Ok(page(&title(first), &body))
}

/// The same as text in lines of at most so many `columns`, of the comparisons with `all` figures.
///
/// # Errors
/// A record has a text that is no histogram.
pub fn settings_text(
    settings: &[(String, Runs)],
    comparisons: &[Comparison],
    all: bool,
    columns: usize,
    paint: Paint,
) -> Result<String, String> {
    if let [(_, only)] = settings {
        return runs_text(only, paint);
    }
    let held = held(settings).split(columns).into_iter().map(|part| part.render(paint));
    let compared = comparisons
        .iter()
        .map(|comparison| render_comparison(comparison, all, columns, paint));
    Ok(held.chain(compared).collect::<Vec<_>>().join("\n"))
}

/// A row for each lock, a column for each setting: in how many runs it held.
fn held(settings: &[(String, Runs)]) -> Table {
    let tables: Vec<Table> = settings.iter().map(|(_, runs)| verdict_table(runs)).collect();
    let mut head = vec!["held".to_owned()];
    head.extend(settings.iter().map(|(name, _)| printable(name)));
    // The first two cells of a verdict are the lock and whether it held.
    let lock = |row: &[Cell]| row.first().map(|cell| cell.text.clone());
    let row = |row: &Vec<Cell>| {
        let mut cells: Vec<Cell> = row.first().cloned().into_iter().collect();
        cells.extend(tables.iter().map(|table| {
            let same = table.rows.iter().find(|other| lock(other) == lock(row));
            same.and_then(|row| row.get(1).cloned()).unwrap_or_else(Cell::none)
        }));
        cells
    };
    Table {
        head,
        rows: tables
            .first()
            .map_or_else(Vec::new, |table| table.rows.iter().map(row).collect()),
    }
}
