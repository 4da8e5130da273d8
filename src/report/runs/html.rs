//! The page of runs: on its first sheet which lock, why, and how sure that is; then charts and lanes; then what must be known to judge
//! and to repeat it.

use maud::{Markup, PreEscaped, html};

use super::chart::chart;
use super::group::Runs;
use super::parts::Parts;
use super::slides::charts;
use crate::report::lanes::{ShownHold, svg};
use crate::report::page::{cards, class, page, tabled};
use crate::report::table::Table;
use lockstorm_data::model::printable;

/// What the page does with a mouse or a finger. It is whole without.
const SCRIPT: &str = include_str!("script.js");

/// What the script can do, which it says itself.
const HINT: &str =
    "Move over a chart for its values, drag to see a part of it, double-click to see all; click a name to hide it.";

/// The page of these runs. It is a function of the records alone.
///
/// # Errors
/// A record has a text that is no histogram, or a chart could not be drawn, which is a bug.
pub fn runs_page(runs: &Runs) -> Result<String, String> {
    let body = html! { (sheets(runs)?) (script()) };
    Ok(page(&title(runs), &body))
}

/// The title of a page of these runs.
pub(super) fn title(runs: &Runs) -> String {
    format!("{} · lockstorm report", printable(&runs.scenario().name))
}

/// What the page does with a mouse or a finger.
pub(super) fn script() -> Markup {
    html! { script { (PreEscaped(SCRIPT)) } }
}

/// All that these runs have shown.
pub(super) fn sheets(runs: &Runs) -> Result<Markup, String> {
    let parts = Parts::of(runs)?;
    let names: Vec<String> = runs.first().arms.iter().map(|arm| printable(&arm.name)).collect();
    let drawn = charts(runs)?;
    let drawn: Vec<Markup> = drawn
        .iter()
        .map(|curves| chart(curves, &names))
        .collect::<Result<_, _>>()?;
    Ok(html! {
        section { (first_sheet(&parts)) }
        section {
            h2 { "Second by second" }
            p.made { (what_charts_show(runs.all().len())) " " span.hint data-hint=(HINT) {} }
            div.charts { @for chart in &drawn { (chart) } }
            (lanes(runs))
        }
        section { (last_sheet(&parts, runs.all().len())) }
    })
}

fn first_sheet(parts: &Parts) -> Markup {
    html! {
        h1 { (parts.title) }
        @for (tone, sentence) in &parts.sentences {
            p class={ "verdict " (class(*tone)) } { span { (sentence) } }
        }
        p.made { (parts.subtitle) }
        (cards(&parts.verdicts))
        @if !parts.legend.is_empty() { p.made { (parts.legend) } }
        p { strong { "How sure? " } (parts.sure) }
        h2 { "What happened" (parts.happened_in) }
        (happened(&parts.happened))
        @if let Some(times) = &parts.times {
            h2 { "How long it took to get a lock, and faults" }
            (cards(times))
            p.made { (parts.times_legend) }
        }
    }
}

fn happened(table: &Table) -> Markup {
    html! {
        div.wide {
            table.words {
                @for row in &table.rows {
                    @if let [at, words] = row.as_slice() { tr { th { (at.text) } td class=(class(words.tone)) { (words.text) } } }
                }
            }
        }
    }
}

const fn what_charts_show(runs: usize) -> &'static str {
    if runs == 1 {
        "Seconds of the run; faults are shaded."
    } else {
        "Seconds since the first fault of each run. A curve is the median of all runs, its band their range; it is where at least half of \
         them have a value. Faults are shaded, the darker the more runs had one then."
    }
}

/// The first double hold of each arm that has one.
fn lanes(runs: &Runs) -> Markup {
    let mut with = runs.evidence().enumerate().peekable();
    html! {
        @if with.peek().is_some() {
            h2 { "Two at once" }
            p { "The first time that two held one lock, of each lock to which it happened: who held it, what the nodes forgot, who came in." }
            @for (place, (record, arm, double)) in with {
                details open[place == 0] {
                    summary { (printable(&arm.name)) }
                    figure.lanes { (PreEscaped(svg(&ShownHold::of(record, arm, double)))) }
                }
            }
        }
    }
}

fn last_sheet(parts: &Parts, runs: usize) -> Markup {
    html! {
        h2 { "Read this with care" }
        ul {
            @if runs == 1 && parts.again.is_some() { li { "One run is one sample: the commands below play it with other seeds." } }
            @for text in &parts.caveats { li { (text) } }
        }
        h2 { "All figures" }
        @for table in &parts.figures { (tabled(table)) }
        @if let Some(again) = &parts.again {
            h2 { "To play it again" }
            p { "Write the scenario to scenario.toml, and: " code { (again) } }
            details.whole { summary { "the scenario" } pre { (parts.scenario) } }
        }
        footer { (parts.versions) }
    }
}
