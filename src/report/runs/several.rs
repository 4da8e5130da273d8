//! A page of several settings: what differs between them first, then each by itself.

use maud::html;

use super::group::Runs;
use super::html::{runs_page, script, sheets, title};
use crate::report::comparison::{notes, said, table};
use crate::report::page::{cards, class, page};
use lockstorm_data::model::printable;
use lockstorm_plan::compare::Comparison;

/// The page of these settings, each with its name and its runs, and of what was compared. There is at least one setting.
///
/// # Errors
/// A record has a text that is no histogram, or a chart could not be drawn, which is a bug.
pub fn runs_pages(settings: &[(String, Runs)], comparisons: &[Comparison]) -> Result<String, String> {
    let Some((_, first)) = settings.first().filter(|_| settings.len() > 1) else {
        return settings
            .first()
            .map_or_else(|| Ok(String::new()), |(_, runs)| runs_page(runs));
    };
    let each: Vec<_> = settings
        .iter()
        .map(|(name, runs)| Ok((name, sheets(runs)?)))
        .collect::<Result<_, String>>()?;
    let body = html! {
        section {
            h1 { (printable(&first.scenario().title)) }
            @for comparison in comparisons {
                @for (tone, sentence) in said(comparison) {
                    p class={ "verdict " (class(tone)) } { span { (sentence) } }
                }
                (cards(&table(comparison, false)))
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
