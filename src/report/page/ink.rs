//! Colours of drawings, and signs of their legends.

use maud::{Markup, PreEscaped, html};
use plotters::style::RGBColor;

/// The colour of text and axes in the drawing, which the page replaces by that of its own text.
pub(in crate::report) const INK: RGBColor = RGBColor(1, 2, 3);
const INK_TEXT: &str = "#010203";
/// The colours of the curves, readable on white and on black, and for people who can't tell red from green.
pub(in crate::report) const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
/// The drawing with text and axes in the colour of its page.
pub(in crate::report) fn paged(svg: &str) -> String {
    inked(svg, "currentColor")
}

/// The drawing with text and axes in this colour.
pub(in crate::report) fn inked(svg: &str, colour: &str) -> String {
    svg.replace(INK_TEXT, colour)
}

/// What an arm is drawn with, until [`named`] gives it its colour.
pub(in crate::report) fn stand_in(arm: usize) -> RGBColor {
    let [.., high, low] = arm.to_be_bytes();
    RGBColor(7, high, low)
}

/// The drawing with the curve of this arm in its colour, and with the arm's number, by which a page finds it.
pub(in crate::report) fn named(svg: &str, arm: usize) -> String {
    let RGBColor(red, green, blue) = stand_in(arm);
    let own = format!("\"#{red:02X}{green:02X}{blue:02X}\"");
    ["stroke", "fill"].iter().fold(svg.to_owned(), |svg, attribute| {
        let coloured = format!("data-arm=\"{arm}\" {attribute}=\"{}\"", colour(arm));
        svg.replace(&format!("{attribute}={own}"), &coloured)
    })
}

/// A sign of the legend.
pub(in crate::report) fn sign(shape: &str) -> Markup {
    html! { svg width="24" height="16" viewBox="0 0 24 16" aria-hidden="true" { (PreEscaped(shape)) } }
}

/// The mark of this curve, with its line.
pub(in crate::report) fn marker(place: usize) -> String {
    let colour = colour(place);
    let shape = match place % 3 {
        0 => format!("<circle cx='12' cy='8' r='4' fill='{colour}'/>"),
        1 => format!("<path d='M12 3l5 9h-10z' fill='{colour}'/>"),
        _ => format!("<path d='M8 4l8 8m0 -8l-8 8' stroke='{colour}' stroke-width='2'/>"),
    };
    format!("<path d='M0 8h24' stroke='{colour}' stroke-width='2'/>{shape}")
}

/// The colour of this curve.
pub(in crate::report) fn colour(place: usize) -> String {
    let RGBColor(red, green, blue) = COLOURS[place % COLOURS.len()];
    format!("#{red:02x}{green:02x}{blue:02x}")
}
