//! The values that a chart draws for an arm: tenths of a second where a column is shorter than a second, as far back as
//! they are stored, and seconds elsewhere.

use std::ops::Range;

use super::axis::TimeAxis;
use lockstorm_data::metrics::Point;
use lockstorm_run::ArmView;

/// What was measured in a range of time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample<T> {
    /// The range in tenths of a second of the run.
    pub time: Range<i64>,
    /// What of it is drawn.
    pub value: T,
}

/// For how many tenths a value is held if no other follows; after that there is a gap.
const HOLD: i64 = 15;

/// The samples in the time of an axis, oldest first; `value` takes from each point what is drawn.
pub(super) fn samples<T>(
    arm: &ArmView,
    axis: TimeAxis,
    value: impl Fn(&Point) -> T + Copy,
) -> impl Iterator<Item = Sample<T>> {
    let points_of_tenths = || arm.recent_tenths.iter().filter(move |_| axis.is_fine());
    let kept_from = points_of_tenths()
        .next()
        .map_or(i64::MAX, |tenth_point| tenth_point.time.div_euclid(10));
    let seconds = arm.series.iter().filter(move |point| point.time < kept_from);
    let seconds = seconds.map(|point| (point.time * 10..point.time * 10 + 10, point));
    let tenths = points_of_tenths().map(|point| (point.time..point.time + 1, point));
    // A value from just before the axis may still be held at its left edge.
    let on = axis.time();
    let is_on = move |time: &Range<i64>| time.start < on.end && time.end + HOLD > on.start;
    seconds
        .chain(tenths)
        .filter(move |(time, _)| is_on(time))
        .map(move |(time, point)| Sample {
            time,
            value: value(point),
        })
}

/// Holds each sample until the next one, but for at most a second and a half. They must be in order.
pub(super) fn held<T>(samples: &mut [Sample<T>]) {
    let starts: Vec<i64> = samples.iter().skip(1).map(|sample| sample.time.start).collect();
    for (index, sample) in samples.iter_mut().enumerate() {
        let longest = sample.time.start + HOLD;
        let next = starts.get(index).copied().unwrap_or(longest);
        sample.time.end = sample.time.end.max(next.min(longest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_kit::scenario::workloads;

    fn at(tenth: i64) -> Sample<()> {
        Sample {
            time: tenth..tenth + 1,
            value: (),
        }
    }

    #[test]
    fn what_the_timeline_shows_is_kept_by_the_second_and_by_the_tenth() {
        for workload in workloads() {
            for lane in workload.about().display().lanes {
                assert_eq!(Point::default().of(*lane), Some(0), "`Point::of` lacks {lane:?}");
            }
        }
    }

    #[test]
    fn a_value_is_held_until_the_next_one_and_not_for_ever() {
        let mut points_of_tenths = [at(0), at(4), at(40)];
        held(&mut points_of_tenths);
        assert_eq!(
            points_of_tenths.map(|tenth_point| tenth_point.time),
            [0..4, 4..19, 40..55]
        );
    }
}
