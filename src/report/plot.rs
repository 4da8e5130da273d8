//! Curves as pictures in text, with logarithmic axes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line};

use super::paint::Paint;

/// The columns of the labels on the left.
const LABELS: u16 = 10;

/// A point of a curve: its decimal logarithms, and what is written there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
    pub mark: String,
    /// Whether the line goes through it.
    pub on_line: bool,
}

/// Points from the left to the right, with a line through them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    pub points: Vec<Point>,
    pub color: Color,
}

/// Curves with their axes.
pub(super) struct Panel<'a> {
    pub curves: &'a [Curve],
    /// A point that is written over all others.
    pub best: Option<Point>,
    /// Written where points of different curves meet: if one of them is on its line, and if none is. Without it, the later mark
    /// stays.
    pub several: Option<[&'static str; 2]>,
    /// The values below the x axis, by their logarithms; those that have no room are left out.
    pub ticks: &'a [(f64, String)],
    /// The largest possible value on the y axis.
    pub most: f64,
    /// Writes a value of the y axis.
    pub label: fn(f64) -> String,
}

impl Panel<'_> {
    /// The picture as so many lines of at most this width.
    pub fn draw(&self, (width, height): (u16, u16), paint: Paint) -> Vec<String> {
        let area = Rect::new(0, 0, width.max(LABELS + 10), height.max(4));
        let graph = Rect {
            x: LABELS,
            y: 0,
            width: area.width - LABELS,
            height: area.height - 1,
        };
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let [x0, x1] = bounds(points().map(|point| point.x), 0.02);
        let [y0, y1] = bounds(points().map(|point| point.y), 0.05).map(|end| end.min(self.most.log10()));
        let mut buffer = Buffer::empty(area);
        Canvas::default()
            .marker(Marker::Braille)
            .x_bounds([x0, x1])
            .y_bounds([y0, y1])
            .paint(|context| {
                for curve in self.curves {
                    for pair in curve
                        .points
                        .windows(2)
                        .filter(|pair| pair.iter().all(|point| point.on_line))
                    {
                        context.draw(&Line::new(pair[0].x, pair[0].y, pair[1].x, pair[1].y, curve.color));
                    }
                }
            })
            .render(graph, &mut buffer);
        let place = |point: &Point| {
            let column = graph.x + cell((point.x - x0) / (x1 - x0), graph.width);
            (column, cell(1.0 - (point.y - y0) / (y1 - y0), graph.height))
        };
        let mut taken: Vec<((u16, u16), usize, bool)> = Vec::new();
        for (number, curve) in self.curves.iter().enumerate() {
            for point in &curve.points {
                let at = place(point);
                let met = || taken.iter().filter(|(there, by, _)| *there == at && *by != number);
                let (mark, color) = match self.several.filter(|_| met().next().is_some()) {
                    Some([_, beside]) if !point.on_line && met().all(|(.., on_line)| !on_line) => {
                        (beside, Color::Reset)
                    }
                    Some([on_line, _]) => (on_line, Color::Reset),
                    None => (point.mark.as_str(), curve.color),
                };
                buffer.set_string(at.0, at.1, mark, Style::new().fg(color));
                taken.push((at, number, point.on_line));
            }
        }
        if let Some(best) = &self.best {
            let (column, row) = place(best);
            buffer.set_string(column, row, &best.mark, Style::new().fg(Color::Reset));
        }
        for row in 0..graph.height {
            buffer.set_string(LABELS - 1, row, "│", Style::default());
        }
        // A label at the top, in the middle and at the bottom.
        for share in [0.0, 0.5, 1.0] {
            let width = usize::from(LABELS) - 2;
            let text = format!("{:>width$}", (self.label)(10_f64.powf(y0 + (y1 - y0) * share)));
            buffer.set_stringn(0, cell(1.0 - share, graph.height), text, width, Style::default());
        }
        let mut free = LABELS;
        for (x, text) in self.ticks {
            let column = LABELS + cell((x - x0) / (x1 - x0), graph.width);
            let length = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
            let last = area.width.saturating_sub(length);
            let start = column.saturating_sub(length / 2).min(last).max(LABELS);
            if start >= free && start.saturating_add(length) <= area.width {
                buffer.set_string(start, area.height - 1, text, Style::default());
                free = start + length + 2;
            }
        }
        (0..area.height).map(|row| line(&buffer, row, paint)).collect()
    }
}

/// The cell, of so many, at this part of the way.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a row or a column of the picture"
)]
fn cell(part: f64, cells: u16) -> u16 {
    (f64::from(cells - 1) * part.clamp(0.0, 1.0)).round() as u16
}

/// A row of the picture, without the blanks at its end.
fn line(buffer: &Buffer, row: u16, paint: Paint) -> String {
    let cells: Vec<_> = (0..buffer.area.width).map(|column| &buffer[(column, row)]).collect();
    let end = cells
        .iter()
        .rposition(|cell| cell.symbol() != " ")
        .map_or(0, |last| last + 1);
    let mut text = String::new();
    for alike in cells[..end].chunk_by(|one, next| one.fg == next.fg) {
        let part: String = alike.iter().map(|cell| cell.symbol()).collect();
        text += &paint.colored(alike[0].fg, &part);
    }
    text
}

/// The least and the largest value, with a margin.
fn bounds(values: impl Iterator<Item = f64>, margin: f64) -> [f64; 2] {
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    let reach = ((most - least) * margin).max(0.05);
    [least - reach, most + reach]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64, mark: &str, on_line: bool) -> Point {
        Point {
            x,
            y,
            mark: mark.to_owned(),
            on_line,
        }
    }

    fn panel<'a>(curves: &'a [Curve], ticks: &'a [(f64, String)]) -> Panel<'a> {
        Panel {
            curves,
            best: None,
            several: Some(["*", "0"]),
            ticks,
            most: 1.0,
            label: |value| format!("{value:.2}"),
        }
    }

    #[test]
    fn marks_that_meet_are_one_and_the_line_leaves_out_what_is_not_on_it() {
        let curve = |points: &[Point], color| Curve {
            points: points.to_vec(),
            color,
        };
        let a = curve(
            &[
                point(0.0, -1.0, "a", true),
                point(1.0, -2.0, "a", true),
                point(2.0, -3.0, "A", false),
            ],
            Color::Cyan,
        );
        let b = curve(
            &[point(0.0, -1.0, "b", true), point(1.0, -1.5, "b", true)],
            Color::Magenta,
        );
        let ticks: Vec<(f64, String)> = ["1 s", "10 s", "100 s"]
            .into_iter()
            .zip(0..)
            .map(|(text, x)| (f64::from(x), text.to_owned()))
            .collect();
        let curves = [a, b];
        let lines = panel(&curves, &ticks).draw((60, 12), Paint::Off);
        let all = lines.concat();
        let count = |mark: char| all.chars().filter(|&c| c == mark).count();
        assert_eq!(
            (count('*'), count('a'), count('b'), count('A')),
            (1, 1, 1, 1),
            "{lines:#?}"
        );
        assert!(lines[11].contains("1 s") && lines[11].contains("100 s"), "{lines:#?}");
        // From the last point on the line to the other one there is nothing.
        let braille = |line: &String| line.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c));
        let below = lines.iter().skip_while(|line| !line.contains('a')).skip(1);
        assert!(!below.into_iter().any(braille), "{lines:#?}");
        let painted = panel(&curves, &ticks).draw((60, 12), Paint::On).concat();
        assert!(
            painted.contains("\u{1b}[36m") && painted.contains("\u{1b}[35m"),
            "{painted}"
        );
    }
}
