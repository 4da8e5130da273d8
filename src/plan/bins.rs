//! A distribution as a few hundred values with their weights, for sums over two or three distributions; and such sums.

/// How often the upper tail is halved: what is beyond has a probability of 1e-12.
const HALVINGS: i32 = 40;
/// The values in each half.
const VALUES: u32 = 8;

/// At first a sum takes every so many of its terms.
const STEP: usize = 80;
/// Terms between two others are taken as on a line if the one in their middle changes the sum up to there by this part at most.
const TOLERANCE: f64 = 1e-5;

/// The places, as probabilities from below, at which a distribution is looked at, and the weight of each. The weights add up
/// to 1. Each half of what is left of the upper tail gets as many places as the half below, so that rare values count.
pub(super) fn places() -> impl Iterator<Item = (f64, f64)> {
    (1..=HALVINGS).flat_map(|half| {
        // What is above the part, and how wide it is; the last part has all the rest.
        let above = 0.5_f64.powi(half);
        let width = if half == HALVINGS { 2.0 * above } else { above };
        (0..VALUES).map(move |value| {
            let share = (f64::from(value) + 0.5) / f64::from(VALUES);
            (1.0 - 2.0 * above + width * share, width / f64::from(VALUES))
        })
    })
}

/// The mean of a function of these values, which ascend and have weights, by as few of them as it takes: where the function follows a
/// straight line, the ends of the line will do. It must rise and fall slowly, and never be below 0.
pub(super) fn mean(values: &[(f64, f64)], of: impl Fn(f64) -> f64) -> f64 {
    sum(values, |place| of(values[place].0))
}

/// The same for the terms of a sum, none of them below 0, each with a number that grows from term to term, and its weight.
pub(super) fn sum(numbers: &[(f64, f64)], term: impl Fn(usize) -> f64) -> f64 {
    let Some(last) = numbers.len().checked_sub(1) else {
        return 0.0;
    };
    let known = |place: usize| (place, term(place));
    // All terms behind the first place up to the second, on the line between both.
    let line = |(from, first): (usize, f64), (to, second): (usize, f64)| -> f64 {
        let slope = match numbers[to].0 - numbers[from].0 {
            none if none <= 0.0 => 0.0,
            distance => (second - first) / distance,
        };
        let behind = numbers[from + 1..=to].iter();
        behind
            .map(|(number, weight)| weight * (first + slope * (number - numbers[from].0)))
            .sum()
    };
    let mut behind = known(0);
    let mut sum = numbers[0].1 * behind.1;
    let mut ahead: Vec<(usize, f64)> = (STEP..last)
        .step_by(STEP)
        .chain((last > 0).then_some(last))
        .map(known)
        .collect();
    ahead.reverse();
    while let Some(&next) = ahead.last() {
        let whole = line(behind, next);
        let halves = (next.0 - behind.0 > 1).then(|| {
            let middle = known(usize::midpoint(behind.0, next.0));
            (middle, line(behind, middle) + line(middle, next))
        });
        match halves {
            Some((middle, halves)) if (halves - whole).abs() > TOLERANCE * (sum + halves) => ahead.push(middle),
            halves => {
                sum += halves.map_or(whole, |(_, halves)| halves);
                behind = next;
                ahead.pop();
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_mean_is_as_exact_as_that_of_all_values_and_takes_few_of_them() {
        /// A name, the function, and of how many values it may be worked out.
        type Function = (&'static str, fn(f64) -> f64, usize);
        let values: Vec<(f64, f64)> = places().map(|(place, weight)| (-(1.0 - place).ln(), weight)).collect();
        let functions: [Function; 6] = [
            ("constant", |_| 0.25, 12),
            ("even", |value| 1.0 + value, 12),
            ("bent", |value| (value / 10.0).exp(), 60),
            // As much of its sum lies in the far tail as at the beginning.
            ("of the tail", |value| value.exp() / 1e3, 320),
            ("a step", |value| f64::from(u8::from(value > 3.3)), 40),
            ("rises and falls", |value| value * (-value).exp(), 120),
        ];
        for (name, function, most) in functions {
            let all: f64 = values.iter().map(|&(value, weight)| weight * function(value)).sum();
            let worked_out = Cell::new(0);
            let seen = mean(&values, |value| {
                worked_out.set(worked_out.get() + 1);
                function(value)
            });
            assert!((seen / all - 1.0).abs() < 1e-4, "{name}: {seen} {all}");
            assert!(
                worked_out.get() <= most,
                "{name}: {} of {}",
                worked_out.get(),
                values.len()
            );
        }
        assert!((mean(&[(2.0, 1.0)], |value| value) - 2.0).abs() < 1e-12 && mean(&[], |value| value) <= 0.0);
    }

    #[test]
    fn the_weights_add_up_to_one_and_the_mean_of_a_distribution_is_right() {
        let weights: f64 = places().map(|(_, weight)| weight).sum();
        assert!((weights - 1.0).abs() < 1e-9, "{weights}");
        // An exponential distribution with mean 1.
        let mean: f64 = places().map(|(place, weight)| -(1.0 - place).ln() * weight).sum();
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        assert!(places().all(|(place, _)| (0.0..1.0).contains(&place)));
    }
}
