//! A figure over several runs: its median and its range.

use crate::report::columns::{Arm, Mark, judge, marked, sign, written};
use crate::report::table::Cell;
use lockstorm_data::metrics::units::{median, rate};
use lockstorm_data::metrics::{Metric, Unit, figure};

/// A figure of one arm in each of its runs: the median, and the range if there are several. The mark is that of the worst.
pub(super) fn spread(metric: Metric, runs: &[Arm<'_>]) -> Cell {
    let worst = metric.peak();
    let known = runs.iter().filter(|arm| written(worst, arm).is_some());
    let values: Vec<(f64, bool)> = known.map(|arm| (worst.of(arm.figures), false)).collect();
    let known = values.len();
    // The title of a column has the unit of rates.
    let write = |value| match worst.unit() {
        Unit::PerSecond => rate(value),
        Unit::Count | Unit::Micros => figure(worst, value),
    };
    let Some(text) = range(values, write) else {
        return Cell::none();
    };
    let missing = match runs.len() - known {
        0 => String::new(),
        missing => format!(", unknown in {missing}"),
    };
    let worst = runs.iter().filter_map(|arm| judge(metric, arm).result()).max();
    marked(sign(Mark::new(metric, worst)), format!("{text}{missing}"), false)
}

/// The median of these values, and the range if they differ; `None` without any. Each says whether it is a lower bound.
pub(super) fn range(mut values: Vec<(f64, bool)>, write: impl Fn(f64) -> String) -> Option<String> {
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let sorted: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
    let text = |value, places: [usize; 2]| {
        let is_bound = places.iter().any(|place| values[*place].1);
        format!("{}{}", if is_bound { "≥ " } else { "" }, write(value))
    };
    let last = sorted.len().checked_sub(1)?;
    let middle = text(median(&sorted)?, [last / 2, sorted.len() / 2]);
    let [least, most] = [0, last].map(|place| text(sorted[place], [place; 2]));
    Some(if least == most {
        middle
    } else {
        format!("{middle} ({least} – {most})")
    })
}

/// What the range of so many runs says of the median of all runs that there could be: it lies below all of them, or above all of
/// them, with a probability of 2 · (1/2)ⁿ, whatever the distribution is (the sign test's interval). In percent; `None` below two runs.
pub(super) fn confidence(runs: usize) -> Option<f64> {
    let n = i32::try_from(runs).ok().filter(|n| *n >= 2)?;
    Some(100.0 * (1.0 - 0.5_f64.powi(n - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::paint::Tone;
    use lockstorm_data::metrics::{Entry, Figures};

    fn of(lost: &[u64]) -> Cell {
        let figures: Vec<Figures> = lost
            .iter()
            .map(|lost| Figures {
                ledger: [
                    (Entry::Orders, 100),
                    (Entry::LostUpdates, *lost),
                    (Entry::LostUpdatesPeak, *lost),
                ]
                .into(),
                contested: 1,
                ..Figures::default()
            })
            .collect();
        let arms: Vec<Arm<'_>> = figures.iter().map(Arm::of_figures).collect();
        spread(Metric::LostUpdates, &arms)
    }

    #[test]
    fn a_figure_over_runs_is_its_median_with_its_range_and_the_worst_mark() {
        assert_eq!(of(&[3]), Cell::new(Tone::Bad, "✖ 3"));
        assert_eq!(of(&[7, 0, 3]), Cell::new(Tone::Bad, "✖ 3 (0 – 7)"));
        // Of an even number of runs, the mean of the two in the middle.
        assert_eq!(of(&[7, 1, 2, 4]), Cell::new(Tone::Bad, "✖ 3 (1 – 7)"));
        assert_eq!(of(&[4, 1]), Cell::new(Tone::Bad, "✖ 2.50 (1 – 4)"));
        assert_eq!(of(&[0, 0]), Cell::new(Tone::Good, "✔ 0"));
        assert_eq!(of(&[]), Cell::none());
    }

    #[test]
    fn the_range_of_six_runs_has_the_median_with_more_than_95_percent() {
        assert_eq!(confidence(1), None);
        assert_eq!(confidence(2), Some(50.0));
        assert!(confidence(5).is_some_and(|percent| percent < 95.0));
        assert!(confidence(6).is_some_and(|percent| (96.8..96.9).contains(&percent)));
    }
}
