//! A chart on the page, with its legend and its numbers.

use maud::{Markup, PreEscaped, html};

use super::curves::{Axis, Curves};
use super::drawing::drawing;
use crate::report::page::{colour, paged, sign, tabled};

/// The size of a drawing; the page scales it with its text. On a page of 390 pixels it is drawn at two thirds of this.
const SIZE: (u32, u32) = (560, 240);
/// The height of its lines of text; letters are smaller by a quarter.
const TEXT: u32 = 19;

/// The chart, with the names of all arms. The script of the page reads its places from the attributes, and its values from its table.
///
/// # Errors
/// It could not be drawn; this is a bug.
pub(super) fn chart(curves: &Curves, names: &[String]) -> Result<Markup, String> {
    let drawing = drawing(curves, SIZE, TEXT)?;
    let joined = |values: &mut dyn Iterator<Item = String>| values.collect::<Vec<_>>().join(" ");
    let (from, until) = curves.range;
    let axis = match curves.axis {
        Axis::Seconds => "seconds",
        Axis::Percentiles => "percentiles",
    };
    Ok(html! {
        figure.chart data-axis=(axis) data-range=(format!("{from} {until}"))
            data-plot=(joined(&mut drawing.plot.iter().map(i32::to_string)))
            data-at=(joined(&mut curves.places().iter().map(|at| format!("{at:.3}")))) {
            figcaption { (titled(curves)) }
            // What it shows is told by its title and its table.
            (PreEscaped(paged(&drawing.svg).replacen("<svg ", "<svg aria-hidden=\"true\" ", 1)))
            ul.legend {
                @for line in &curves.lines {
                    li data-arm=(line.arm) { (sign(&stroke(line.arm))) (names[line.arm]) }
                }
            }
            details.numbers { summary { "the numbers" } (tabled(&curves.table(names))) }
        }
    })
}

/// The title of a chart, with its unit.
pub(super) fn titled(curves: &Curves) -> String {
    match curves.unit {
        "" => curves.title.clone(),
        unit => format!("{}, {unit}", curves.title),
    }
}

/// The line of an arm in the legend, 24 × 16 pixels.
pub(super) fn stroke(arm: usize) -> String {
    format!("<path d='M0 8h24' stroke='{}' stroke-width='3'/>", colour(arm))
}
