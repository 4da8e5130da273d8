//! A chart as SVG.

use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, LabelAreaPosition};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, Polygon, Rectangle};
use plotters::series::LineSeries;
use plotters::style::Color;

use super::curves::{Axis, Curves};
use crate::report::page::{INK, ROOM, named, stand_in};

/// A drawing, with text and axes in [`INK`].
pub(super) struct Drawing {
    pub svg: String,
    /// Where its curves have room, in pixels: the left, the right, the upper and the lower edge.
    pub plot: [i32; 4],
}

/// An axis with these ticks.
struct Ticks {
    place: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Ticks {
    fn new((from, until): (f64, f64), ticks: Vec<f64>) -> Self {
        Self {
            place: (from..until).into(),
            ticks,
        }
    }
}

impl Ranged for Ticks {
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

/// The curves in a drawing of this size, with lines of text of this height.
///
/// # Errors
/// It could not be drawn; this is a bug.
pub(super) fn drawing(curves: &Curves, size: (u32, u32), text: u32) -> Result<Drawing, String> {
    drawn(curves, size, text).map_err(|error| format!("a chart could not be drawn: {error}"))
}

fn drawn(curves: &Curves, size: (u32, u32), text: u32) -> Result<Drawing, DrawingAreaErrorKind<std::io::Error>> {
    let place = |value: f64| if curves.is_log { value.log10() } else { value };
    let range = heights(curves);
    let up = curves.up(range);
    let keys = |ticks: &[(f64, String)], place: &dyn Fn(f64) -> f64| -> Vec<f64> {
        ticks.iter().map(|(at, _)| place(*at)).collect()
    };
    let name_of = |ticks: &[(f64, String)], place: &dyn Fn(f64) -> f64, wanted: f64| {
        let found = ticks.iter().find(|(at, _)| (place(*at) - wanted).abs() < 1e-9);
        found.map_or_else(String::new, |(_, name)| name.clone())
    };
    let y = (place(range.0), place(range.1));
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin(text / 2)
        // Half of a tick's name may stand beside the plot.
        .margin_right(text * 5 / 4)
        .x_label_area_size(text * 3 / 2)
        .y_label_area_size(text * 9 / 2)
        .build_cartesian_2d(
            Ticks::new(curves.range, keys(&curves.across, &|at| at)),
            Ticks::new(y, keys(&up, &place)),
        )?;
    let (left_right, up_down) = chart.plotting_area().get_pixel_range();
    let shades = curves.shades.iter();
    chart.draw_series(shades.map(|(since, ended)| {
        Rectangle::new(
            [(since.max(curves.range.0), y.0), (ended.min(curves.range.1), y.1)],
            INK.mix(0.12 / curves.runs as f64).filled(),
        )
    }))?;
    let mut mesh = chart.configure_mesh();
    // The ticks of time stand below each other in all charts.
    if curves.axis == Axis::Percentiles {
        mesh.disable_x_mesh();
    }
    mesh.bold_line_style(INK.mix(0.15))
        .light_line_style(INK.mix(0.0))
        .axis_style(INK)
        .set_tick_mark_size(LabelAreaPosition::Bottom, 0)
        .label_style(("sans-serif", text, &INK))
        .x_label_formatter(&|at| name_of(&curves.across, &|at| at, *at))
        .y_label_formatter(&|value| name_of(&up, &place, *value))
        .draw()?;
    // The first arms are those that are to hold, and stand above the others.
    for line in curves.lines.iter().rev() {
        let colour = stand_in(line.arm);
        // Where there is no value there is no line.
        for part in line.spots.chunk_by(|one, next| next.at - one.at < curves.step * 1.5) {
            let upper = part.iter().map(|spot| (spot.at, place(spot.range.1)));
            let lower = part.iter().rev().map(|spot| (spot.at, place(spot.range.0)));
            if curves.runs > 1 && part.len() > 1 {
                let band: Vec<(f64, f64)> = upper.chain(lower).collect();
                chart.draw_series(std::iter::once(Polygon::new(band, colour.mix(0.15))))?;
            }
            let points = part.iter().map(|spot| (spot.at, place(spot.value)));
            chart.draw_series(LineSeries::new(points, colour.stroke_width(text / 8)))?;
            if let [alone] = part {
                let at = (alone.at, place(alone.value));
                chart.draw_series(std::iter::once(Circle::new(at, text / 6, colour.filled())))?;
            }
        }
    }
    area.present()?;
    drop((chart, area));
    // The names of ticks stand a little below the axis.
    let lower = format!("transform=\"translate(0 {})\" text-anchor=\"middle\"", text / 4);
    let svg = svg.replace("text-anchor=\"middle\"", &lower);
    let svg = curves.lines.iter().fold(svg, |svg, line| named(&svg, line.arm));
    let plot = [left_right.start, left_right.end, up_down.start, up_down.end];
    Ok(Drawing { svg, plot })
}

/// From where until where the vertical axis goes.
fn heights(curves: &Curves) -> (f64, f64) {
    let all = curves.lines.iter().flat_map(|line| &line.spots);
    let (least, most) = all.fold((f64::INFINITY, 0.0_f64), |(least, most), spot| {
        (least.min(spot.range.0), most.max(spot.range.1))
    });
    if curves.is_log {
        (least / ROOM, most * ROOM)
    } else {
        (0.0, (curves.most.unwrap_or(most) * 1.05).max(1.0))
    }
}
