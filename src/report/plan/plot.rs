//! A plan as a picture in text: how often sections outlast their lock, and how long takeovers take, against the TTL; all axes
//! are logarithmic.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line};

use crate::model::setting;
use crate::plan::{Plan, Renewal, Row};
use crate::report::figures::{percent, time};

/// The columns of the labels on the left.
const LABELS: u16 = 10;
/// What is rarer is drawn at the bottom.
const RAREST: f64 = 1e-12;
/// The mark of the recommended setting.
const BEST: &str = "◆";

/// One curve: the letter at its points, and the points.
struct Curve {
    letter: String,
    points: Vec<(f64, f64)>,
}

/// Both pictures, one above the other, as lines of this width; `height` is that of both together.
#[must_use]
pub fn plot_plan(plan: &Plan, width: u16, height: u16) -> Vec<String> {
    let mut renewals: Vec<Renewal> = Vec::new();
    for row in &plan.rows {
        if !renewals.contains(&row.setting.renewal) {
            renewals.push(row.setting.renewal);
        }
    }
    let letter = |place: usize, renewal: &Renewal| match renewal {
        Renewal::Off => "o".to_owned(),
        Renewal::Fraction(n) => n.to_string(),
        // Intervals have no short name.
        Renewal::Every(_) => char::from(b'a' + u8::try_from(place % 14).unwrap_or(0)).to_string(),
    };
    let curves = |figure: &dyn Fn(&Row) -> f64| -> Vec<Curve> {
        let points = |renewal: &Renewal| {
            let rows = plan.rows.iter().filter(|row| row.setting.renewal == *renewal);
            rows.map(|row| (row.setting.ttl.as_secs_f64().log10(), figure(row).log10()))
                .collect()
        };
        let all = renewals.iter().enumerate();
        all.map(|(place, renewal)| Curve {
            letter: letter(place, renewal),
            points: points(renewal),
        })
        .collect()
    };
    let best = |figure: &dyn Fn(&Row) -> f64| {
        let row = &plan.rows[plan.choice.best()?];
        Some((row.setting.ttl.as_secs_f64().log10(), figure(row).log10()))
    };
    let overrun = |row: &Row| row.overrun.p.max(RAREST);
    let takeover = |row: &Row| row.takeover_mean.max(1e-4);
    let legend: Vec<String> = renewals
        .iter()
        .enumerate()
        .map(|(place, renewal)| match renewal {
            Renewal::Off => format!("{} no renewal", letter(place, renewal)),
            _ => format!("{} renewal {renewal}", letter(place, renewal)),
        })
        .collect();
    let half = height / 2;
    let mut lines = vec![format!(
        "P(overrun) against the TTL     {}   {BEST} recommended",
        legend.join("   ")
    )];
    lines.extend(panel(
        &curves(&overrun),
        best(&overrun),
        1.0,
        (width, half.saturating_sub(1)),
        percent,
    ));
    lines.push("mean takeover after a crash".to_owned());
    lines.extend(panel(
        &curves(&takeover),
        best(&takeover),
        f64::INFINITY,
        (width, (height - half).saturating_sub(1)),
        time,
    ));
    lines
}

/// The curves with their axes. `most` is the largest possible value, and `label` writes a value of the y axis.
fn panel(
    curves: &[Curve],
    best: Option<(f64, f64)>,
    most: f64,
    (width, height): (u16, u16),
    label: fn(f64) -> String,
) -> Vec<String> {
    let area = Rect::new(0, 0, width.max(LABELS + 10), height.max(4));
    let graph = Rect {
        x: LABELS,
        y: 0,
        width: area.width - LABELS,
        height: area.height - 1,
    };
    let points = || curves.iter().flat_map(|curve| curve.points.iter().copied());
    let [x0, x1] = bounds(points().map(|point| point.0), 0.02);
    let [y0, y1] = bounds(points().map(|point| point.1), 0.05).map(|end| end.min(most.log10()));
    let mut buffer = Buffer::empty(area);
    Canvas::default()
        .marker(Marker::Braille)
        .x_bounds([x0, x1])
        .y_bounds([y0, y1])
        .paint(|context| {
            for curve in curves {
                for pair in curve.points.windows(2) {
                    let [(from_x, from_y), (to_x, to_y)] = [pair[0], pair[1]];
                    context.draw(&Line::new(from_x, from_y, to_x, to_y, Color::Reset));
                }
            }
            for curve in curves {
                for (x, y) in &curve.points {
                    context.print(*x, *y, curve.letter.clone());
                }
            }
            if let Some((x, y)) = best {
                context.print(x, y, BEST);
            }
        })
        .render(graph, &mut buffer);
    for row in 0..graph.height {
        buffer.set_string(LABELS - 1, row, "│", Style::default());
    }
    // A label at the top, in the middle and at the bottom.
    for share in [0.0, 0.5, 1.0] {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a row of the picture"
        )]
        let row = (f64::from(graph.height - 1) * (1.0 - share)).round() as u16;
        let text = label(10_f64.powf(y0 + (y1 - y0) * share));
        buffer.set_stringn(
            0,
            row,
            format!("{text:>width$}", width = usize::from(LABELS) - 2),
            usize::from(LABELS) - 2,
            Style::default(),
        );
    }
    let axis = area.height - 1;
    let mut free = LABELS;
    for (x, _) in curves.first().map(|curve| curve.points.as_slice()).unwrap_or_default() {
        // What was taken apart by its logarithm is a whole number of milliseconds again.
        let ttl = Duration::from_secs_f64(10_f64.powf(*x).min(1e9));
        let text = setting(Duration::from_millis(
            u64::try_from((ttl + Duration::from_micros(500)).as_millis()).unwrap_or(u64::MAX),
        ));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a column of the picture"
        )]
        let column = LABELS + (f64::from(graph.width - 1) * (x - x0) / (x1 - x0)).round() as u16;
        let length = u16::try_from(text.chars().count()).unwrap_or(0);
        let start = column.saturating_sub(length / 2).max(LABELS);
        if start >= free && start + length <= area.width {
            buffer.set_string(start, axis, &text, Style::default());
            free = start + length + 2;
        }
    }
    let line = |row: u16| -> String { (0..area.width).map(|column| buffer[(column, row)].symbol()).collect() };
    (0..area.height).map(|row| line(row).trim_end().to_owned()).collect()
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
    use crate::plan::{Question, Spread, settings};

    #[test]
    fn every_curve_and_the_recommended_setting_are_on_both_pictures_within_the_room() {
        let hold = Spread::LogNormal {
            median: 0.020,
            sigma: 0.6,
        };
        let mut question = Question::new(hold, Spread::Constant(0.001), 3);
        question.goal.overlaps_per_day = 100.0;
        let ttls = [30, 50, 80, 150, 300, 500].map(Duration::from_millis);
        let plan = Plan::of(question, &settings(&ttls, &[Renewal::Off]));
        assert!(plan.choice.best().is_some());
        for (width, height) in [(116, 26), (80, 16), (40, 14)] {
            let lines = plot_plan(&plan, width, height);
            assert_eq!(lines.len(), usize::from(height));
            assert!(
                lines
                    .iter()
                    .skip(1)
                    .all(|line| line.chars().count() <= usize::from(width)),
                "{lines:#?}"
            );
            let marks = |mark: char| {
                lines[1..]
                    .iter()
                    .flat_map(|line| line.chars())
                    .filter(|&c| c == mark)
                    .count()
            };
            assert_eq!(marks('◆'), 2, "{lines:#?}");
            assert!(marks('o') >= 6, "{lines:#?}");
            assert!(lines.last().is_some_and(|axis| axis.contains("30 ms")), "{lines:#?}");
        }
    }
}
