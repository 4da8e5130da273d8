//! The frame of a page of results. It opens offline: no scripts, and nothing comes from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::report::paint::Tone;
use crate::report::table::{Cell, Table};

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #cf222e; --doubt: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --bad: #ff7b72; --doubt: #d29922; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .2rem .7rem .2rem 0; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, table.words td, table.words th { text-align: left; }
table.words { white-space: normal; }
table.words th { font-weight: 600; white-space: nowrap; vertical-align: top; }
figure { margin: 0; } figcaption, .made { font-size: .9rem; opacity: .8; } .made { overflow-wrap: anywhere; }
figure > svg { width: 100%; height: auto; max-width: 560px; color: inherit; display: block; }
figure.time > svg, figure.lanes > svg { max-width: 100%; } figure.time { margin-top: 1.5rem; }
summary { cursor: pointer; } details .wide { max-height: 24rem; overflow: auto; }
.legend { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .9rem; }
.legend svg { vertical-align: -2px; margin-right: .4rem; }
.verdict { font-size: 1.15rem; padding: .8rem 1rem; border-left: 4px solid currentColor; }
.good { color: var(--good); } .bad { color: var(--bad); } .doubt { color: var(--doubt); }
.verdict span { color: CanvasText; }
pre { overflow-x: auto; padding: .7rem 1rem; border: 1px solid var(--line); border-radius: 6px; font-size: .9rem; }
footer { margin-top: 3rem; opacity: .7; font-size: .9rem; }
";

/// A page with this title.
pub(in crate::report) fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
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
        Tone::Plain | Tone::Strong | Tone::Faint => "",
    }
}

/// A table.
pub(in crate::report) fn tabled(table: &Table) -> Markup {
    html! {
        div.wide {
            table {
                thead { tr { @for title in &table.head { th { (title.trim()) } } } }
                tbody { @for row in &table.rows { tr { @for cell in row { (shown(cell)) } } } }
            }
        }
    }
}

fn shown(cell: &Cell) -> Markup {
    html! {
        @if cell.tone == Tone::Strong { td { strong { (cell.text.trim()) } } }
        @else { td class=(class(cell.tone)) { (cell.text.trim()) } }
    }
}
