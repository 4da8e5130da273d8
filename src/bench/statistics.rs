//! Medians, quartiles and fairness.

use lockstorm_data::metrics::units;
use serde::{Deserialize, Serialize};

/// The median of some figures, and their quartiles and extremes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quartiles {
    /// The median.
    pub median: f64,
    /// The first quartile.
    pub q1: f64,
    /// The third quartile.
    pub q3: f64,
    /// The smallest figure.
    pub min: f64,
    /// The largest figure.
    pub max: f64,
    /// How many figures there are.
    pub n: usize,
}

impl Quartiles {
    /// The quartiles of these figures; `None` if there are none. It interpolates between two figures (Hyndman and Fan 1996,
    /// type 7).
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().filter(|figure| figure.is_finite()).collect();
        figures.sort_unstable_by(f64::total_cmp);
        Some(Self {
            median: quantile(&figures, 0.5)?,
            q1: quantile(&figures, 0.25)?,
            q3: quantile(&figures, 0.75)?,
            min: *figures.first()?,
            max: *figures.last()?,
            n: figures.len(),
        })
    }
}

fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let place = q * sorted.len().checked_sub(1)? as f64;
    let below = sorted[units::place(place.floor())];
    let above = sorted[units::place(place.ceil())];
    Some(below + (above - below) * place.fract())
}

/// Jain's fairness index: (Σx)² / (n·Σx²), from 1/n (one task has everything) to 1 (all have the same); `None` if no task
/// has anything.
/// Jain, Chiu, Hawe: A quantitative measure of fairness, DEC-TR-301, 1984.
pub fn jain(shares: &[u64]) -> Option<f64> {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    (squares > 0.0).then(|| sum.powi(2) / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_two() {
        let quartiles = Quartiles::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((quartiles.median, quartiles.q1, quartiles.q3), (2.5, 1.75, 3.25));
        assert_eq!((quartiles.min, quartiles.max, quartiles.n), (1.0, 4.0, 4));
    }

    #[test]
    fn quartiles_of_seven_rounds_are_figures_among_them_or_halfway() {
        let quartiles = Quartiles::of((1..=7).map(f64::from)).unwrap();
        assert_eq!((quartiles.median, quartiles.q1, quartiles.q3), (4.0, 2.5, 5.5));
    }

    #[test]
    fn one_figure_is_its_own_median_and_an_empty_list_has_none() {
        let quartiles = Quartiles::of([7.0, f64::NAN, f64::INFINITY]).unwrap();
        assert_eq!(
            (quartiles.median, quartiles.q1, quartiles.q3, quartiles.n),
            (7.0, 7.0, 7.0, 1)
        );
        assert_eq!(Quartiles::of([]), None);
    }

    #[test]
    fn jain_is_one_for_equals_and_one_nth_when_one_has_all() {
        assert_eq!(jain(&[5, 5, 5, 5]), Some(1.0));
        assert_eq!(jain(&[9, 0, 0, 0]), Some(0.25));
        assert_eq!(jain(&[1, 2, 3]), Some(36.0 / 42.0));
        assert_eq!(jain(&[0, 0]), None);
        assert_eq!(jain(&[]), None);
    }
}
