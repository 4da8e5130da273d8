//! A chart as SVG, with its legend and its numbers.

use maud::{Markup, PreEscaped, html};
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::Rectangle;
use plotters::series::LineSeries;
use plotters::style::Color;

use super::curves::Curves;
use crate::report::page::{COLOURS, INK, ROOM, colour, paged, sign, tabled};

/// The size of a drawing; the page scales it.
const SIZE: (u32, u32) = (900, 260);
/// The height of its lines of text.
const TEXT: u32 = 17;

/// The chart, with the names of all arms.
///
/// # Errors
/// It could not be drawn; this is a bug.
pub(super) fn chart(curves: &Curves, names: &[&str]) -> Result<Markup, String> {
    let svg = drawing(curves).map_err(|error| format!("a chart could not be drawn: {error}"))?;
    Ok(html! {
        figure.time {
            figcaption { (curves.title) @if !curves.unit.is_empty() { ", " (curves.unit) } }
            (PreEscaped(svg))
            ul.legend {
                @for (arm, _) in &curves.lines {
                    li { (sign(&format!("<path d='M0 8h24' stroke='{}' stroke-width='3'/>", colour(*arm)))) (names[*arm]) }
                }
            }
            details { summary { "the numbers" } (tabled(&curves.table(names))) }
        }
    })
}

/// An axis with these ticks.
struct Axis {
    place: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Axis {
    fn new((from, until): (f64, f64), ticks: Vec<f64>) -> Self {
        Self {
            place: (from..until).into(),
            ticks,
        }
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.place.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.place.range()
    }
}

fn drawing(curves: &Curves) -> Result<String, DrawingAreaErrorKind<std::io::Error>> {
    let all = || curves.lines.iter().flat_map(|(_, line)| line.iter().copied());
    let place = |value: f64| if curves.is_log { value.log10() } else { value };
    let (least, most) = all().fold((f64::INFINITY, 0.0_f64), |(least, most), (_, value)| {
        (least.min(value), most.max(value))
    });
    let range = if curves.is_log {
        (least / ROOM, most * ROOM)
    } else {
        (0.0, (most * 1.05).max(1.0))
    };
    let (from, until) = all().fold((0.0_f64, 0.0_f64), |(from, until), (at, _)| {
        (from.min(at), until.max(at))
    });
    let up = curves.up(range);
    let keys = |ticks: &[(f64, String)], place: &dyn Fn(f64) -> f64| -> Vec<f64> {
        ticks.iter().map(|(at, _)| place(*at)).collect()
    };
    let named = |ticks: &[(f64, String)], place: &dyn Fn(f64) -> f64, wanted: f64| {
        let found = ticks.iter().find(|(at, _)| (place(*at) - wanted).abs() < 1e-9);
        found.map_or_else(String::new, |(_, name)| name.clone())
    };
    let y = (place(range.0), place(range.1));
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin(8)
        .x_label_area_size(30)
        .y_label_area_size(90)
        .build_cartesian_2d(
            Axis::new((from, until), keys(&curves.across, &|at| at)),
            Axis::new(y, keys(&up, &place)),
        )?;
    let shades = curves.shades.iter();
    chart.draw_series(shades.map(|(since, ended)| {
        Rectangle::new(
            [(*since, y.0), (ended.min(until).max(*since), y.1)],
            INK.mix(0.12).filled(),
        )
    }))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(INK.mix(0.15))
        .light_line_style(INK.mix(0.0))
        .axis_style(INK)
        .label_style(("sans-serif", TEXT, &INK))
        .x_label_formatter(&|at| named(&curves.across, &|at| at, *at))
        .y_label_formatter(&|value| named(&up, &place, *value))
        .draw()?;
    // The first arms are those that are to hold, and stand above the others.
    for (arm, line) in curves.lines.iter().rev() {
        let style = COLOURS[arm % COLOURS.len()].stroke_width(2);
        // Where there is no value there is no line.
        for part in line.chunk_by(|one, next| next.0 - one.0 < curves.step * 1.5) {
            let points = part.iter().map(|(at, value)| (*at, place(*value)));
            chart.draw_series(LineSeries::new(points, style))?;
        }
    }
    area.present()?;
    drop((chart, area));
    Ok(paged(&svg))
}
