//! The charts and the lanes of runs as pictures for slides.

use maud::{Markup, PreEscaped, html};

use super::chart::{stroke, titled};
use super::curves::{Curves, Line};
use super::drawing::drawing;
use super::group::Runs;
use super::over_time::over_time;
use crate::report::lanes::{ShownHold, svg};
use crate::report::page::inked;
use crate::report::story::counted;
use lockstorm_data::model::printable;

/// The colour of text and axes on a slide.
const INK: &str = "#1f2328";
/// The width of a letter, as a part of the height of its text.
const LETTER: f64 = 0.62;

/// Each chart, and the first double hold of each arm that has one, as an SVG of this size with the name of its file.
///
/// # Errors
/// A record has a text that is no histogram, or a chart could not be drawn, which is a bug.
pub fn runs_slides(runs: &Runs, size: (u32, u32)) -> Result<Vec<(String, String)>, String> {
    let mut all = Vec::new();
    for curves in charts(runs)? {
        all.push((format!("{}.svg", curves.name), slide(runs, &curves, size)?));
    }
    for (record, arm, double) in runs.evidence() {
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = arm.name.chars().map(safe).take(40).collect();
        // Two names may look alike then.
        let place = record.arms.iter().position(|one| one.name == arm.name).unwrap_or(0) + 1;
        let lanes = svg(&ShownHold::of(record, arm, double));
        let page = page(size, &html! { (PreEscaped(lanes)) });
        all.push((format!("two-at-once-{place}-{name}.svg"), page));
    }
    Ok(all)
}

/// The charts of these runs: those over time, and the time to get a lock by percentile.
///
/// # Errors
/// A text is not a histogram: another program wrote the record.
pub(super) fn charts(runs: &Runs) -> Result<Vec<Curves>, String> {
    let by_percentile = Curves::by_percentile(runs).map_err(|error| format!("a record can't be used: {error}"))?;
    let mut all = over_time(runs.all(), counted(runs.scenario()));
    all.extend(Some(by_percentile).filter(|curves| !curves.lines.is_empty()));
    Ok(all)
}

/// A white page with this in the middle.
fn page((width, height): (u32, u32), inside: &Markup) -> String {
    let page = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox=(format!("0 0 {width} {height}"))
            font-family="sans-serif" fill=(INK) {
            rect width="100%" height="100%" fill="#fff" {}
            (inside)
        }
    };
    page.into_string() + "\n"
}

/// A chart with its title above and its legend below.
fn slide(runs: &Runs, curves: &Curves, size: (u32, u32)) -> Result<String, String> {
    let (width, height) = size;
    let text = (height.min(width) / 32).max(10);
    let names: Vec<String> = runs.first().arms.iter().map(|arm| printable(&arm.name)).collect();
    let pitch = |line: &Line| f64::from(text) * (3.5 + LETTER * names[line.arm].chars().count() as f64);
    // The legend goes on in the next line where one is full.
    let (mut x, mut row, mut places) = (0.0, 0, Vec::new());
    for line in &curves.lines {
        if x > 0.0 && x + pitch(line) > f64::from(width - 2 * text) {
            (x, row) = (0.0, row + 1);
        }
        places.push((x + f64::from(text), row));
        x += pitch(line);
    }
    let (head, foot) = (text * 5 / 2, text * 2 * (row + 1));
    let drawing = drawing(
        curves,
        (width, height.saturating_sub(head + foot).max(text * 6)),
        text * 5 / 4,
    )?;
    let y = |row: u32| height - foot + text * 2 * row + text;
    let inside = html! {
        text x=(text) y=(text * 7 / 4) font-size=(text * 5 / 4) font-weight="bold" { (titled(curves)) }
        svg y=(head) { (PreEscaped(inked(&drawing.svg, INK))) }
        @for (line, (x, row)) in curves.lines.iter().zip(places) {
            g transform=(format!("translate({x:.0} {}) scale({})", y(row) - text * 8 / 16, f64::from(text) / 16.0)) { (PreEscaped(stroke(line.arm))) }
            text x=(format!("{:.0}", x + 2.0 * f64::from(text))) y=(y(row) + text / 3) font-size=(text) { (names[line.arm]) }
        }
    };
    Ok(page(size, &inside))
}
