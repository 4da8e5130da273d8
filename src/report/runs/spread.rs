//! A figure over several runs: its median and its range.

use crate::report::columns::{Arm, Mark, judge, marked, written};
use crate::report::table::Cell;
use lockstorm_data::metrics::Metric;

/// A figure of one arm in each of its runs: the middle one, and the range if there are several. Of an even number of runs the
/// middle one is the lower of two. The mark is that of the worst.
pub(super) fn spread(metric: Metric, runs: &[Arm<'_>]) -> Cell {
    let worst = metric.peak();
    let values: Vec<(f64, String)> = runs
        .iter()
        .filter_map(|arm| Some((worst.of(arm.figures), written(worst, arm)?)))
        .collect();
    let known = values.len();
    let Some(text) = range(values) else {
        return Cell::none();
    };
    let missing = match runs.len() - known {
        0 => String::new(),
        missing => format!(", unknown in {missing}"),
    };
    let marks: Vec<Mark> = runs.iter().map(|arm| judge(metric, arm)).collect();
    let worst_first = [Mark::Damage, Mark::Poor, Mark::Notice, Mark::Pending, Mark::Good];
    let mark = worst_first.into_iter().find(|mark| marks.contains(mark));
    marked(mark.unwrap_or(Mark::Plain), format!("{text}{missing}"), false)
}

/// The middle one of these values as it is written, and the range if they differ; `None` without any.
pub(super) fn range(mut values: Vec<(f64, String)>) -> Option<String> {
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (least, most) = (&values.first()?.1, &values.last()?.1);
    let middle = &values[(values.len() - 1) / 2].1;
    Some(if least == most {
        middle.clone()
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
    use lockstorm_data::metrics::Figures;

    fn of(lost: &[u64]) -> Cell {
        let figures: Vec<Figures> = lost
            .iter()
            .map(|lost| Figures {
                orders: 100,
                contested: 1,
                lost_updates: *lost,
                lost_updates_peak: *lost,
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
