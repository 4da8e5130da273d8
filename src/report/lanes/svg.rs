//! Lanes as a picture for pages and slides.

use lockstorm_data::model::printable;
use maud::{Markup, html};

use super::picture::{Kind, Lane, Picture, micros};
use super::shown::ShownHold;
use super::story;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 80.0;
const LANE: f64 = 34.0;
const TOP: f64 = 70.0;
const LINE: f64 = 20.0;

/// The evidence of a double hold as an SVG.
pub fn svg(shown: &ShownHold<'_>) -> String {
    let (double, events) = (shown.double, shown.events);
    let picture = Picture::of(double, events, micros(shown.end));
    let x = scale(&picture);
    let story: Vec<String> = story::lines(double, events)
        .into_iter()
        .map(|(at, what)| format!("{:.3} s  {what}", at as f64 / 1e6))
        .chain(story::conclusion(double, shown.has_replicas))
        .flat_map(|line| {
            textwrap::wrap(&line, 130)
                .into_iter()
                .map(std::borrow::Cow::into_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    let legend = TOP + LANE * picture.lanes.len() as f64 + 20.0;
    let below = legend + 36.0;
    let end = below + LINE * story.len() as f64 + 10.0;
    let height = end + LINE;
    let second = double.second.from_us;
    let markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {height}")) font-family="sans-serif" font-size="13" {
            rect width="100%" height="100%" fill="#fff" {}
            text x="20" y="28" font-size="17" font-weight="bold" { (shown.arm) ": two hold " (double.key) " at once" }
            (rows(&picture, TOP))
            line x1=(x(second)) x2=(x(second)) y1=(TOP - 8.0) y2=(legend - 20.0) stroke="#c00" stroke-dasharray="4 3" {}
            @for (place, kind) in Kind::ALL.into_iter().enumerate() {
                @let (fill, what) = look(kind);
                @let at = 20.0 + 160.0 * place as f64;
                rect x=(at) y=(legend - 11.0) width="12" height="12" fill=(fill) {}
                text x=(at + 17.0) y=(legend) font-size="11" { (what) }
            }
            @for (place, line) in story.iter().enumerate() {
                text x="20" y=(below + LINE * place as f64) { (line) }
            }
            text x="20" y=(end) font-size="11" fill="#666" { (shown.run) }
        }
    };
    printable(&markup.into_string()) + "\n"
}

/// Lanes without words, for a page that has these beside them.
pub(in crate::report) fn lanes(picture: &Picture) -> Markup {
    let top = 32.0;
    let height = top + LANE * picture.lanes.len() as f64;
    html! { svg viewBox=(format!("0 0 {WIDTH} {height}")) font-size="13" { (rows(picture, top)) } }
}

/// Where a time is, in pixels from the left.
fn scale(picture: &Picture) -> impl Fn(i64) -> f64 {
    let (from, scale) = (
        picture.from,
        (WIDTH - LEFT - 20.0) / (picture.until - picture.from).max(1) as f64,
    );
    // A tenth of a pixel is enough.
    move |at| ((LEFT + (at - from) as f64 * scale) * 10.0).round() / 10.0
}

/// The lanes from `top` on, and above them when they begin and end.
fn rows(picture: &Picture, top: f64) -> Markup {
    let (x, time) = (scale(picture), |at: i64| format!("{:.3} s", at as f64 / 1e6));
    html! {
        text x=(LEFT) y=(top - 16.0) fill="#666" { (time(picture.from)) }
        text x=(WIDTH - 20.0) y=(top - 16.0) fill="#666" text-anchor="end" { (time(picture.until)) }
        @for (place, lane) in picture.lanes.iter().enumerate() {
            (row(lane, top + LANE * place as f64, &x))
        }
    }
}

fn row(lane: &Lane, y: f64, x: impl Fn(i64) -> f64) -> Markup {
    html! {
        text x="20" y=(y + 18.0) { (lane.label) }
        @for span in &lane.spans {
            @let (fill, what) = look(span.kind);
            rect x=(x(span.from)) y=(y) width=(format!("{:.1}", (x(span.until) - x(span.from)).max(2.0))) height="24" fill=(fill) {
                title { (what) }
            }
        }
    }
}

const fn look(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Belief => ("#2b6cb0", "relies on the lock"),
        Kind::Beyond => ("#bcd", "works on without"),
        Kind::Both => ("#c00", "two at once"),
        Kind::First => ("#bee3f8", "has the first one's key"),
        Kind::Second => ("#dd6b20", "has the second one's key"),
        Kind::Down => ("#111", "down"),
    }
}
