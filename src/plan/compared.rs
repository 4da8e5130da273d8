use serde::Serialize;

use lockstorm_data::metrics::units::place;
use lockstorm_data::model::CheckResult;

/// The part of the plays that an interval leaves out on each side.
const LEFT_OUT: f64 = 0.025;

/// The name of a figure, its title, and whether it is a time.
pub(super) type Named = (&'static str, &'static str, bool);

/// A figure of an arm on real nodes, and in the plays of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Compared {
    /// Its name: that of the field of [`Replayed`](super::Replayed).
    pub name: &'static str,
    /// Its title in a table.
    #[serde(skip)]
    pub title: &'static str,
    /// Whether it is a time, in microseconds.
    #[serde(skip)]
    pub is_time: bool,
    /// On real nodes; null if it has no value there.
    pub real: Option<f64>,
    /// The mean of the plays in which it has one.
    pub mean: Option<f64>,
    /// The 95 % prediction interval of one more play (Wilks 1941: the k-th smallest and the k-th largest of n plays, with
    /// k = ⌊0.025 (n + 1)⌋); null with fewer than 39.
    pub interval: Option<[f64; 2]>,
    /// Whether the real figure lies within it; undecided without an interval, and if the interval begins at zero: then
    /// nothing at all would lie within it, too.
    pub result: CheckResult,
}

impl Compared {
    /// Compares the real figure with that of each play.
    pub(super) fn of(figure: Named, real: Option<f64>, plays: impl Iterator<Item = Option<f64>>) -> Self {
        let (name, title, is_time) = figure;
        let mut values: Vec<f64> = plays.flatten().collect();
        values.sort_unstable_by(f64::total_cmp);
        let interval = interval(&values);
        let result = match (real, interval) {
            (Some(real), Some([low, high])) if real < low || real > high => CheckResult::Failed,
            (Some(_), Some([low, _])) if low > 0.0 => CheckResult::Held,
            _ => CheckResult::Inconclusive,
        };
        Self {
            name,
            title,
            is_time,
            real,
            mean: (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
            interval,
            result,
        }
    }
}

fn interval(sorted: &[f64]) -> Option<[f64; 2]> {
    let rank = place((LEFT_OUT * (sorted.len() + 1) as f64 + 1e-9).floor());
    let low = rank.checked_sub(1)?;
    Some([sorted[low], sorted[sorted.len() - rank]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_figure_lies_within_the_plays_or_not_and_few_plays_say_nothing() {
        let figure = ("refused", "refused", false);
        let of = |real, plays: u32| Compared::of(figure, real, (1..=plays).map(|play| Some(f64::from(play))));
        assert_eq!(of(Some(20.0), 38).interval, None);
        assert_eq!(of(Some(20.0), 38).result, CheckResult::Inconclusive);
        let hundred = of(Some(2.0), 100);
        assert_eq!((hundred.interval, hundred.mean), (Some([2.0, 99.0]), Some(50.5)));
        assert_eq!(hundred.result, CheckResult::Held);
        for outside in [1.0, 100.0] {
            assert_eq!(of(Some(outside), 100).result, CheckResult::Failed, "{outside}");
        }
        assert_eq!(of(None, 100).result, CheckResult::Inconclusive);
        assert_eq!(of(Some(39.0), 39).interval, Some([1.0, 39.0]));
    }

    #[test]
    fn where_nothing_at_all_would_agree_too_nothing_is_decided() {
        let of = |real, all: [f64; 2]| {
            let plays = (0..100).map(|play| Some(all[usize::from(play % 2 == 0)]));
            Compared::of(("takeovers", "takeovers", false), Some(real), plays).result
        };
        assert_eq!(of(1.0, [0.0, 3.0]), CheckResult::Inconclusive);
        assert_eq!(of(4.0, [0.0, 3.0]), CheckResult::Failed);
        assert_eq!(of(0.0, [0.0, 0.0]), CheckResult::Inconclusive);
        let figure = ("takeover_mean_us", "takeover mean", true);
        let none = Compared::of(figure, Some(0.1), (0..100).map(|_| None));
        assert_eq!((none.mean, none.result), (None, CheckResult::Inconclusive));
    }
}
