//! The frame of a page of results. It opens offline: nothing comes from elsewhere, and nothing may.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::report::paint::Tone;
use crate::report::table::{Cell, Table};

const STYLE: &str = include_str!("style.css");
/// What a page may use: its own styles, and its own script if it has one.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// A page with this title.
pub(in crate::report) fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// The class of a tone.
pub(in crate::report) const fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Doubt => "doubt",
        Tone::Strong => "strong",
        Tone::Plain | Tone::Faint => "",
    }
}

/// A table. On a narrow screen it is scrolled, and its first column stays.
pub(in crate::report) fn tabled(table: &Table) -> Markup {
    html! { div.wide { table { (inside(table)) } } }
}

/// A table which on a narrow screen has a card for each row.
pub(in crate::report) fn cards(table: &Table) -> Markup {
    html! { div.wide { table.cards { (inside(table)) } } }
}

fn inside(table: &Table) -> Markup {
    html! {
        thead { tr { @for head in &table.head { th { (head.title.trim()) } } } }
        tbody {
            @for row in &table.rows {
                tr { @for (head, cell) in table.head.iter().zip(row) { (shown(head.title.trim(), cell)) } }
            }
        }
    }
}

fn shown(title: &str, cell: &Cell) -> Markup {
    html! { td class=(class(cell.tone)) data-title=(title) { (cell.text.trim()) } }
}
