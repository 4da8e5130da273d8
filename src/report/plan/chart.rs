//! A figure of each setting against its TTL, as SVG with its legend.

use maud::{Markup, PreEscaped, html};
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::combinators::{BindKeyPoints, IntoLogRange};
use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, Cross, EmptyElement, Rectangle, TriangleMarker};
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::{Color, ShapeStyle};

use super::drawn::Drawn;
use super::phrases::{curve_name, renewals, ttl};
use crate::report::page::{COLOURS, INK, ROOM, colour, marker, paged, round_time, round_times, sign};
use lockstorm_plan::{Plan, Renewal, Row};

/// The size of a drawing; the page scales it with its text. On a page of 390 pixels it is drawn at three quarters of this.
const SIZE: (u32, u32) = (480, 330);
/// The height of its lines of text; letters are smaller by a quarter, and have 11 pixels on such a page.
const TEXT: u32 = 19;
/// The values for which the axes have room.
const TICKS: (usize, usize) = (6, 8);

/// The chart: a curve for each renewal, a dashed line for the goal, and a ring in the colour of its curve around the recommended
/// setting. What is 0 stands at the bottom edge as a bar. The legend is beside the drawing, where it covers nothing.
pub(super) fn chart(plan: &Plan, drawn: &Drawn) -> Result<Markup, DrawingAreaErrorKind<std::io::Error>> {
    let drawing = drawing(plan, drawn)?;
    Ok(html! {
        figure {
            figcaption { (drawn.title) " against the TTL" }
            (PreEscaped(drawing))
            ul.legend {
                @for (place, renewal) in renewals(plan).iter().enumerate() {
                    li { (sign(&marker(place))) (curve_name(renewal)) }
                }
                @if let Some(best) = plan.choice.best().map(|best| &plan.rows[best]) {
                    @let place = place(plan, &best.setting.renewal);
                    li {
                        (sign(&format!("<circle cx='12' cy='8' r='6' fill='none' stroke='{}' stroke-width='3'/>", colour(place))))
                        "recommended: TTL " (ttl(best)) ", " (curve_name(&best.setting.renewal))
                    }
                }
                @if let Some((_, name)) = &drawn.goal {
                    li { (sign("<path d='M0 8h24' stroke='currentColor' stroke-width='2' stroke-dasharray='6 3'/>")) (name) }
                }
                @if let Some(bottom) = &drawn.bottom {
                    li { (sign("<path d='M10.5 16v-10h3v10z' fill='currentColor'/>")) "at the bottom edge: " (bottom) }
                }
            }
        }
    })
}

/// The place of a renewal among the curves.
fn place(plan: &Plan, renewal: &Renewal) -> usize {
    renewals(plan).iter().position(|other| other == renewal).unwrap_or(0)
}

fn drawing(plan: &Plan, drawn: &Drawn) -> Result<String, DrawingAreaErrorKind<std::io::Error>> {
    let x_of = |row: &Row| row.setting.ttl.as_secs_f64();
    let (short, long) = plan
        .rows
        .iter()
        .map(x_of)
        .fold((f64::INFINITY, 0.0_f64), |(short, long), ttl| {
            (short.min(ttl), long.max(ttl))
        });
    let (x, y) = ((short / ROOM, long * ROOM), drawn.range);
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    let text = ("sans-serif", TEXT, &INK);
    let mut chart = ChartBuilder::on(&area)
        .margin(10)
        .x_label_area_size(52)
        .y_label_area_size(84)
        .build_cartesian_2d(
            (x.0..x.1).log_scale().with_key_points(round_times(x, TICKS.0)),
            (y.0..y.1).log_scale().with_key_points((drawn.ticks)(y, TICKS.1)),
        )?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(INK)
        .label_style(text)
        .x_desc("TTL")
        .x_label_formatter(&|ttl| round_time(*ttl))
        .y_label_formatter(&|value| (drawn.write)(*value))
        .draw()?;
    if let Some((goal, _)) = drawn.goal {
        chart.draw_series(DashedLineSeries::new(
            [(x.0, goal), (x.1, goal)],
            8,
            4,
            INK.stroke_width(2),
        ))?;
    }
    let best = plan.choice.best().map(|best| &plan.rows[best]);
    let mut curves: Vec<(usize, Renewal)> = renewals(plan).into_iter().enumerate().collect();
    // Where curves are one, that of the recommended setting is seen.
    curves.sort_by_key(|(_, renewal)| best.is_some_and(|best| best.setting.renewal == *renewal));
    let bars = i32::try_from(curves.len().min(4)).unwrap_or(4);
    for (place, renewal) in curves {
        let colour = COLOURS[place % COLOURS.len()];
        let style = ShapeStyle::from(colour).filled();
        let rows: Vec<&Row> = plan.rows.iter().filter(|row| row.setting.renewal == renewal).collect();
        let points = |rows: &[&Row]| -> Vec<(f64, f64)> {
            rows.iter()
                .filter_map(|row| Some((x_of(row), drawn.place(row)?)))
                .collect()
        };
        for above in rows.split(|row| drawn.place(row).is_none()) {
            chart.draw_series(LineSeries::new(points(above), colour.stroke_width(2)))?;
        }
        // Not by colour alone.
        let marks = points(&rows).into_iter();
        match place % 3 {
            0 => chart.draw_series(marks.map(|at| Circle::new(at, 4, style)))?,
            1 => chart.draw_series(marks.map(|at| TriangleMarker::new(at, 5, style)))?,
            _ => chart.draw_series(marks.map(|at| Cross::new(at, 4, style)))?,
        };
        // Bars of different curves stand side by side.
        let left = i32::try_from(place % 4).unwrap_or(0) * 4 - bars * 2;
        let zeros = rows.iter().filter(|row| drawn.place(row).is_none());
        chart.draw_series(
            zeros.map(|row| EmptyElement::at((x_of(row), y.0)) + Rectangle::new([(left, -10), (left + 3, 0)], style)),
        )?;
    }
    if let Some(best) = best {
        let colour = COLOURS[place(plan, &best.setting.renewal) % COLOURS.len()];
        let at = (x_of(best), drawn.place(best).unwrap_or(y.0));
        chart.draw_series(std::iter::once(Circle::new(at, 9, colour.stroke_width(3))))?;
    }
    area.present()?;
    drop((chart, area));
    Ok(paged(&svg))
}
