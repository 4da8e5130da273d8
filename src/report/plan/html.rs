//! A plan as one page that opens offline: charts as SVG, no scripts, nothing from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart::chart;
use super::drawn::Drawn;
use super::phrases::{
    EXTRAPOLATED, Given, TAKEOVERS, asked, clients_table, not_considered, recommendation, sources, table,
    what_is_lacking,
};
use crate::report::paint::Tone;
use crate::report::table::{Cell, Table};
use lockstorm_plan::{Plan, snippets};

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
.legend { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .9rem; }
.legend svg { vertical-align: -2px; margin-right: .4rem; }
.verdict { font-size: 1.15rem; padding: .8rem 1rem; border-left: 4px solid currentColor; }
.good { color: var(--good); } .bad { color: var(--bad); } .doubt { color: var(--doubt); }
.verdict span { color: CanvasText; }
pre { overflow-x: auto; padding: .7rem 1rem; border: 1px solid var(--line); border-radius: 6px; font-size: .9rem; }
footer { margin-top: 3rem; opacity: .7; font-size: .9rem; }
";

/// The page, which says when it was made and by which command line.
///
/// # Errors
/// A chart could not be drawn; this is a bug.
pub fn plan_page(plan: &Plan, given: &Given, command: &str, when: &str) -> Result<String, String> {
    let failed = |error| format!("a chart could not be drawn: {error}");
    let overrun = chart(plan, &Drawn::overruns(plan)).map_err(failed)?;
    let takeover = chart(plan, &Drawn::takeovers(plan)).map_err(failed)?;
    let table = table(plan);
    let (mark, tone, sentence) = recommendation(plan, given);
    let best = plan.choice.best();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Which TTL · lockstorm plan" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Which TTL, which renewal interval" }
                p class={ "verdict " (class(tone)) } { (mark) " " span { (sentence) } }
                p.made { "Made " (when) " by " code { (command) } }
                h2 { "What was asked" }
                (words(asked(&plan.question, given).into_iter().map(|(name, value)| (name, value, None))))
                h2 { "How often a section outlasts its lock" }
                (overrun)
                h2 { "How long others wait after a crash of the holder" }
                (takeover)
                h2 { "Each setting" }
                (tabled(&table))
                @if plan.rows.iter().any(|row| row.overrun.is_extrapolated()) { p { (EXTRAPOLATED) } }
                @if let Some(lacking) = what_is_lacking(plan) { p { (lacking) } }
                @if let Some(clients) = clients_table(plan) {
                    h2 { "In virtual time" }
                    (tabled(&clients))
                    p { (TAKEOVERS) }
                }
                h2 { "What was not considered" }
                ul { @for sentence in not_considered(plan) { li { (sentence) } } }
                @if let Some(best) = best {
                    h2 { "Where the figures come from" }
                    (words(sources(plan, &plan.rows[best]).into_iter().map(|(name, value, from)| (name, value, Some(from)))))
                    h2 { "The settings" }
                    @for snippet in snippets(plan) {
                        h3 { (snippet.name) }
                        pre { (snippet.text) }
                    }
                }
                footer { "lockstorm " (env!("CARGO_PKG_VERSION")) " plan" }
            }
        }
    };
    Ok(page.into_string())
}

const fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Doubt => "doubt",
        Tone::Plain | Tone::Strong | Tone::Faint => "",
    }
}

fn tabled(table: &Table) -> Markup {
    html! {
        div.wide {
            table {
                thead { tr { @for title in &table.head { th { (title) } } } }
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

fn words(lines: impl Iterator<Item = (&'static str, String, Option<String>)>) -> Markup {
    html! {
        div.wide {
            table.words {
                @for (name, value, from) in lines {
                    tr {
                        th { (name) }
                        td { (value) }
                        @if let Some(from) = from { td { (from) } }
                    }
                }
            }
        }
    }
}
