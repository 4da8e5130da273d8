//! A sweep as a picture in text: how many sections outlasted their lock, and how long takeovers took, against the values of the
//! one key that has numbers; all axes are logarithmic.

use ratatui::style::Color;

use crate::report::figures::{percent, time};
use crate::report::paint::{CURVES, Paint};
use crate::report::plot::{Curve, Panel, Point};
use lockstorm_plan::sweep::{Tradeoff, position};

/// The fewest values that make a curve.
const FEWEST: usize = 3;
/// More curves than this are a tangle.
const MOST: usize = 8;
/// The mark of points of several curves, and of such of them at which none overran.
const SEVERAL: [&str; 2] = ["*", "0"];

/// What is drawn as a curve: an arm, with the values of the other keys.
struct Line<'a> {
    name: String,
    letter: char,
    color: Color,
    /// Each with its place on the axis, from the left to the right.
    rows: Vec<(f64, &'a Tradeoff)>,
}

/// The pictures, one above the other, as lines of this width and height together; `None` if not exactly one key has at least
/// three numbers as its values, or if there are too many curves.
pub(super) fn plot_sweep(rows: &[Tradeoff], (width, height): (u16, u16), paint: Paint) -> Option<Vec<String>> {
    let key = axis(rows)?;
    let curves = curves(rows, key);
    if curves.len() > MOST {
        return None;
    }
    let name = &rows.first()?.cell.0[key].0;
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for row in rows {
        let value = &row.cell.0[key].1;
        let at = position(value)?.log10();
        if !ticks.iter().any(|(_, there)| there == value) {
            ticks.push((at, value.clone()));
        }
    }
    ticks.sort_by(|one, other| one.0.total_cmp(&other.0));
    let overran = drawn(&curves, &|row, letter| {
        let sections = row.sections as f64;
        match (row.sections, row.overran) {
            (0, _) => None,
            // The upper bound of a zero.
            (_, 0) => Some(((3.0 / sections).min(1.0), letter.to_ascii_uppercase(), false)),
            (_, overran) => Some((overran as f64 / sections, letter, true)),
        }
    });
    let takeover = drawn(&curves, &|row, letter| {
        let seconds = row.takeover?.p50_us as f64 / 1e6;
        Some((seconds.max(1e-6), letter, true))
    });
    let has = |curves: &[Curve]| curves.iter().any(|curve| !curve.points.is_empty());
    let legend = curves.iter().map(|curve| {
        paint
            .colored(curve.color, &format!("{} {}", curve.letter, curve.name))
            .into_owned()
    });
    let mut lines = vec![legend.collect::<Vec<_>>().join("   ")];
    let panels = 1 + u16::from(has(&takeover));
    // Beside the pictures there are the legend, a title for each, and two lines about the marks.
    let each = (height.saturating_sub(3) / panels).saturating_sub(1).max(4);
    let panel = |curves: &[Curve], most, label| {
        let panel = Panel {
            curves,
            best: None,
            several: Some(SEVERAL),
            ticks: &ticks,
            most,
            label,
        };
        panel.draw((width, each), paint)
    };
    let pictures = [
        (
            format!("sections that overran, against {name}"),
            overran,
            1.0,
            percent as fn(f64) -> String,
        ),
        (
            format!("median takeover after a kill of an app server, against {name}"),
            takeover,
            f64::INFINITY,
            time,
        ),
    ];
    let mut marks = Vec::new();
    for (title, curves, most, label) in pictures.iter().filter(|(_, curves, ..)| has(curves)) {
        lines.push(title.clone());
        lines.extend(panel(curves, *most, *label));
        let points = || curves.iter().flat_map(|curve| &curve.points);
        if points().any(|point| !point.on_line) {
            marks.push("capital letter, 0 for several: none overran, drawn at the upper bound 3/n".to_owned());
        }
    }
    if lines.iter().skip(1).any(|line| line.contains(SEVERAL[0])) {
        marks.push(format!(
            "{} several curves in one place: the table says which",
            SEVERAL[0]
        ));
    }
    lines.extend(marks);
    (lines.len() > 2).then_some(lines)
}

/// The only key whose values are all numbers, if it has enough of them.
fn axis(rows: &[Tradeoff]) -> Option<usize> {
    let keys = rows.first()?.cell.0.len();
    let is_axis = |key: &usize| {
        let values = || rows.iter().map(|row| &row.cell.0[*key].1);
        let mut different: Vec<&String> = values().collect();
        different.sort_unstable();
        different.dedup();
        values().all(|value| position(value).is_some()) && different.len() >= FEWEST
    };
    let mut axes = (0..keys).filter(is_axis);
    axes.next().filter(|_| axes.next().is_none())
}

/// A curve for each arm and each combination of the other keys' values, in the order of the table.
fn curves(rows: &[Tradeoff], key: usize) -> Vec<Line<'_>> {
    let mut curves: Vec<Line<'_>> = Vec::new();
    for row in rows {
        let Some(at) = position(&row.cell.0[key].1) else {
            continue;
        };
        let others = row.cell.0.iter().enumerate().filter(|(place, _)| *place != key);
        let others = others.map(|(_, (other, value))| format!(", {other} {value}"));
        let name: String = std::iter::once(row.arm.clone()).chain(others).collect();
        let place = curves.iter().position(|curve| curve.name == name).unwrap_or_else(|| {
            curves.push(Line {
                name,
                letter: char::from(b'a' + u8::try_from(curves.len() % 26).unwrap_or(0)),
                color: CURVES[curves.len() % CURVES.len()].0,
                rows: Vec::new(),
            });
            curves.len() - 1
        });
        curves[place].rows.push((at.log10(), row));
    }
    for curve in &mut curves {
        curve.rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    curves
}

/// A figure's value above zero, its mark, and whether the line goes through it.
type Mark = (f64, char, bool);

/// The points of each curve for a figure, which is made of a row and the curve's letter.
fn drawn(curves: &[Line<'_>], figure: &dyn Fn(&Tradeoff, char) -> Option<Mark>) -> Vec<Curve> {
    let points = |curve: &Line<'_>| {
        let of_row = |(x, row): &(f64, &Tradeoff)| {
            let (value, mark, on_line) = figure(row, curve.letter)?;
            Some(Point {
                x: *x,
                y: value.log10(),
                mark: mark.to_string(),
                on_line,
            })
        };
        curve.rows.iter().filter_map(of_row).collect()
    };
    let curve = |curve: &Line<'_>| Curve {
        points: points(curve),
        color: curve.color,
    };
    curves.iter().map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_plan::sweep::{Cell, Takeover};

    fn row(arm: &str, cell: &[(&str, &str)], overran: u64, takeover_us: Option<u64>) -> Tradeoff {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Tradeoff {
            cell: Cell(cell.iter().map(own).collect()),
            arm: arm.to_owned(),
            plays: 1,
            inconclusive: 0,
            sections: 3000,
            overran,
            overran_interval: None,
            verdicts: Vec::new(),
            throughput: 100.0,
            sold_per_second: None,
            sold_out_per_second: None,
            gave_up: 0,
            acquire_p99_us: 1000,
            takeover: takeover_us.map(|p50_us| Takeover { p50_us, max_us: p50_us }),
            renewals_per_second: 0.0,
        }
    }

    fn of_two_arms(takeover_us: Option<u64>) -> Vec<Tradeoff> {
        let values = [("20ms", 900), ("200ms", 0), ("50ms", 30)];
        let rows = values.iter().flat_map(|(value, overran)| {
            ["redlock", "single"].map(|arm| {
                row(
                    arm,
                    &[("ttl", value)],
                    *overran / (1 + u64::from(arm == "single")),
                    takeover_us,
                )
            })
        });
        rows.collect()
    }

    #[test]
    fn each_arm_has_a_curve_and_a_zero_stands_at_its_bound_beside_the_line() {
        for size in [(116, 26), (80, 16), (40, 14)] {
            let lines = plot_sweep(&of_two_arms(None), size, Paint::Off).expect("three TTLs");
            assert!(lines.len() <= usize::from(size.1), "{lines:#?}");
            assert_eq!(lines[0], "a redlock   b single");
            let picture = &lines[2..lines.len() - 1];
            assert!(
                picture.iter().all(|line| line.chars().count() <= usize::from(size.0)),
                "{lines:#?}"
            );
            let count = |mark: char| picture.concat().matches(mark).count();
            // Both have the same upper bound, 3 in 3,000.
            let zeros = picture[..picture.len() - 1]
                .iter()
                .filter(|line| line.trim_end().ends_with('0'))
                .count();
            assert_eq!((count('a'), count('b'), count('*'), zeros), (2, 2, 0, 1), "{lines:#?}");
            assert!(
                picture
                    .last()
                    .is_some_and(|axis| axis.contains("20ms") && axis.contains("200ms")),
                "{lines:#?}"
            );
            assert!(
                lines[lines.len() - 1].starts_with("capital letter, 0 for several: none overran"),
                "{lines:#?}"
            );
            assert!(!lines.iter().any(|line| line.contains("takeover")), "{lines:#?}");
        }
    }

    #[test]
    fn takeovers_are_a_picture_of_their_own() {
        let lines = plot_sweep(&of_two_arms(Some(80_000)), (80, 26), Paint::Off).expect("three TTLs");
        assert!(
            lines.iter().any(|line| line.starts_with("median takeover")),
            "{lines:#?}"
        );
        assert!(lines.iter().any(|line| line.contains("80 ms")), "{lines:#?}");
    }

    #[test]
    fn without_one_axis_of_at_least_three_numbers_there_is_no_picture() {
        let room = (80, 24);
        let of = |values: &[&str]| -> Vec<Tradeoff> {
            values
                .iter()
                .map(|value| row("redlock", &[("renew", value)], 1, None))
                .collect()
        };
        assert!(plot_sweep(&[], room, Paint::Off).is_none());
        assert!(plot_sweep(&of(&["1s", "2s"]), room, Paint::Off).is_none());
        assert!(plot_sweep(&of(&["1s", "2s", "off"]), room, Paint::Off).is_none());
        assert!(plot_sweep(&of(&["1s", "2s", "3s"]), room, Paint::Off).is_some());
        let keys = |renew: &str, ttl: &str| row("redlock", &[("renew", renew), ("ttl", ttl)], 1, None);
        let words: Vec<Tradeoff> = ["1s", "2s", "3s"]
            .iter()
            .flat_map(|ttl| ["off", "ttl/3"].map(|renew| keys(renew, ttl)))
            .collect();
        let lines = plot_sweep(&words, room, Paint::Off).expect("one axis has numbers");
        assert_eq!(lines[0], "a redlock, renew off   b redlock, renew ttl/3");
        let numbers: Vec<Tradeoff> = ["4s", "5s", "6s"]
            .iter()
            .flat_map(|ttl| ["1s", "2s", "3s"].map(|renew| keys(renew, ttl)))
            .collect();
        assert!(plot_sweep(&numbers, room, Paint::Off).is_none());
    }
}
