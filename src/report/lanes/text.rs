//! Lanes as text.

use super::picture::{Kind, Lane, Picture};
use super::story;
use crate::report::paint::{Paint, Tone};
use crate::report::wrap::{WIDTH, hanging};
use lockstorm_data::history::DoubleHold;
use lockstorm_data::model::Event;

/// The columns of the labels.
const LABELS: usize = 9;

/// The evidence of a double hold of an arm; the run ended at `end`, in microseconds since second 0.
pub fn text(arm: &str, double: &DoubleHold, events: &[Event], end: i64, paint: Paint) -> String {
    let (picture, columns) = (Picture::of(double, events, end), WIDTH - LABELS);
    let title = format!("{arm}: double hold {}, lock {}", double.number, double.key);
    let mut text = format!("{}\n\n", paint.apply(Tone::Strong, &title));
    let [from, until] = [picture.from, picture.until].map(seconds);
    text += &format!("{:LABELS$}{from}{until:>1$}\n", "", columns - from.len());
    for lane in &picture.lanes {
        let is_both = lane.spans.iter().any(|span| span.kind == Kind::Both);
        let tone = if is_both { Tone::Bad } else { Tone::Plain };
        let row = row(lane, &picture, columns);
        text += &format!("{:<LABELS$}{}\n", lane.label, paint.apply(tone, row.trim_end()));
    }
    let legend =
        "█ relies on it  ░ works on without  ▲ two at once  ─ has the first one's key  ═ the second one's  × down";
    text += &format!("\n{}\n\n", paint.apply(Tone::Faint, legend));
    for (at, what) in story::lines(double, events) {
        text += &hanging(&format!("{:>10}  ", seconds(at)), &what);
    }
    text += "\n";
    for line in story::conclusion(double) {
        text += &hanging("", &line);
    }
    text
}

fn seconds(at: i64) -> String {
    format!("{:.3} s", at as f64 / 1e6)
}

const fn symbol(kind: Kind) -> char {
    match kind {
        Kind::Belief => '█',
        Kind::Beyond => '░',
        Kind::Both => '▲',
        Kind::First => '─',
        Kind::Second => '═',
        Kind::Down => '×',
    }
}

fn row(lane: &Lane, picture: &Picture, columns: usize) -> String {
    let mut row = vec![' '; columns];
    let length = (picture.until - picture.from).max(1) as f64;
    let place = |at: i64| ((at - picture.from) as f64 / length * columns as f64) as usize;
    for span in &lane.spans {
        // What is too short for a column has one all the same.
        let (from, until) = (place(span.from).min(columns - 1), place(span.until).min(columns));
        row[from..until.max(from + 1)].fill(symbol(span.kind));
    }
    row.into_iter().collect()
}
