//! A plan as one page that opens offline: charts as SVG, no scripts, nothing from elsewhere.

use maud::{Markup, html};

use super::chart::chart;
use super::drawn::Drawn;
use super::phrases::{
    EXTRAPOLATED, Given, TAKEOVERS, asked, clients_table, not_considered, recommendation, sources, table,
    what_is_lacking,
};
use crate::report::page::{class, page, tabled};
use lockstorm_plan::{Plan, snippets};

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
    let body = html! {
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
    };
    Ok(page("Which TTL · lockstorm plan", &body))
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
