//! A plan as one page that opens offline: charts as SVG, no scripts, nothing from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, SeriesLabelPosition};
use plotters::coord::combinators::IntoLogRange;
use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, Cross, IntoDynElement, TriangleMarker};
use plotters::series::LineSeries;
use plotters::style::{Color, RGBColor, ShapeStyle};

use super::words::{
    EXTRAPOLATED, Given, TAKEOVERS, asked, clients_table, curve_name, drawn_overrun, drawn_takeover, recommendation,
    renewals, sources, table,
};
use crate::report::figures::{percent, time};
use crate::report::paint::Tone;
use crate::report::table::{Cell, Table};
use lockstorm_plan::{Plan, Row, snippets};

/// The colour of text and axes in the drawing, which the page replaces by that of its own text.
const INK: RGBColor = RGBColor(1, 2, 3);
const INK_TEXT: &str = "#010203";
/// The colours of the curves, readable on white and on black, and for people who can't tell red from green.
const COLOURS: [RGBColor; 4] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
];
/// The size of a drawing; the page scales it.
const SIZE: (u32, u32) = (640, 340);

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
svg { width: 100%; height: auto; max-width: 720px; color: inherit; display: block; }
.verdict { font-size: 1.15rem; padding: .8rem 1rem; border-left: 4px solid currentColor; }
.good { color: var(--good); } .bad { color: var(--bad); } .doubt { color: var(--doubt); }
.verdict span { color: CanvasText; }
pre { overflow-x: auto; padding: .7rem 1rem; border: 1px solid var(--line); border-radius: 6px; font-size: .9rem; }
footer { margin-top: 3rem; opacity: .7; font-size: .9rem; }
";

/// The page.
///
/// # Errors
/// A chart could not be drawn; this is a bug.
pub fn plan_page(plan: &Plan, given: &Given) -> Result<String, String> {
    let (upper, lower) = (SeriesLabelPosition::UpperRight, SeriesLabelPosition::LowerRight);
    let failed = |error| format!("a chart could not be drawn: {error}");
    let overrun = chart(plan, "P(overrun)", drawn_overrun, |p| percent(*p), upper).map_err(failed)?;
    let takeover = chart(plan, "mean takeover", drawn_takeover, |s| time(*s), lower).map_err(failed)?;
    let table = table(plan);
    let (mark, tone, sentence) = recommendation(plan);
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
                h2 { "What was asked" }
                (words(asked(&plan.question, given).into_iter().map(|(name, value)| (name, value, None))))
                h2 { "How often a section outlasts its lock" }
                (PreEscaped(overrun))
                h2 { "How long others wait after a crash of the holder" }
                (PreEscaped(takeover))
                h2 { "Each setting" }
                (tabled(&table))
                @if plan.rows.iter().any(|row| row.overrun.is_extrapolated()) { p { (EXTRAPOLATED) } }
                @if let Some(clients) = clients_table(plan) {
                    h2 { "In virtual time" }
                    (tabled(&clients))
                    p { (TAKEOVERS) }
                }
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

/// One chart with logarithmic axes: a figure of each setting against its TTL, a curve for each renewal, and a ring around the
/// recommended setting. The legend is in the corner where there are no curves.
fn chart(
    plan: &Plan,
    title: &str,
    figure: fn(&Row) -> f64,
    label: fn(&f64) -> String,
    corner: SeriesLabelPosition,
) -> Result<String, DrawingAreaErrorKind<std::io::Error>> {
    let point = |row: &Row| (row.setting.ttl.as_secs_f64(), figure(row));
    let (x, y) = (
        range(plan.rows.iter().map(|row| point(row).0)),
        range(plan.rows.iter().map(|row| point(row).1)),
    );
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    let text = ("sans-serif", 17, &INK);
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(88)
        .build_cartesian_2d((x.0..x.1).log_scale(), (y.0..y.1).log_scale())?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(INK)
        .label_style(text)
        .x_labels(8)
        .y_labels(6)
        .x_desc("TTL")
        .y_desc(title)
        .x_label_formatter(&|ttl| time(*ttl))
        .y_label_formatter(&label)
        .draw()?;
    for (place, renewal) in renewals(plan).iter().enumerate() {
        let colour = COLOURS[place % COLOURS.len()];
        let rows = plan.rows.iter().filter(|row| row.setting.renewal == *renewal);
        let points: Vec<(f64, f64)> = rows.map(point).collect();
        let style = ShapeStyle::from(colour).filled();
        chart
            .draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?
            .label(curve_name(renewal))
            .legend(move |(x, y)| match place % 3 {
                0 => Circle::new((x + 10, y), 4, style).into_dyn(),
                1 => TriangleMarker::new((x + 10, y), 5, style).into_dyn(),
                _ => Cross::new((x + 10, y), 4, style).into_dyn(),
            });
        // Not by colour alone.
        let points = points.into_iter();
        match place % 3 {
            0 => chart.draw_series(points.map(|at| Circle::new(at, 4, style)))?,
            1 => chart.draw_series(points.map(|at| TriangleMarker::new(at, 5, style)))?,
            _ => chart.draw_series(points.map(|at| Cross::new(at, 4, style)))?,
        };
    }
    if let Some(best) = plan.choice.best() {
        let ring = Circle::new(point(&plan.rows[best]), 9, INK.stroke_width(2));
        chart
            .draw_series(std::iter::once(ring))?
            .label("recommended")
            .legend(|(x, y)| Circle::new((x + 10, y), 7, INK.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(corner)
        .border_style(INK)
        .label_font(text)
        .draw()?;
    area.present()?;
    drop((chart, area));
    // Text and axes have the colour of the page.
    Ok(svg.replace(INK_TEXT, "currentColor"))
}

/// The least and the largest value, with a little room.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    (least / 1.2, most * 1.2)
}
