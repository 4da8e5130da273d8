//! Round values for logarithmic axes.

use crate::report::figures::time;

/// The room that an axis has beside the least and the largest value, as a factor.
pub(in crate::report) const ROOM: f64 = 1.2;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;
/// Round times from 10 s on, and which of them are enough on a long axis.
const TIMES: [(f64, bool); 14] = [
    (10.0, true),
    (20.0, false),
    (MINUTE, true),
    (2.0 * MINUTE, false),
    (5.0 * MINUTE, false),
    (10.0 * MINUTE, true),
    (30.0 * MINUTE, false),
    (HOUR, true),
    (2.0 * HOUR, false),
    (6.0 * HOUR, true),
    (12.0 * HOUR, false),
    (DAY, true),
    (2.0 * DAY, false),
    (7.0 * DAY, true),
];

/// Powers of ten within a range that has room for so `many`, and where there is room between them twice and five times as much.
pub(in crate::report) fn round(range: (f64, f64), many: usize) -> Vec<f64> {
    chosen(decimal(range), range, many)
}

/// The same for times in seconds, from 10 s on in minutes, hours and days.
pub(in crate::report) fn round_times(range: (f64, f64), many: usize) -> Vec<f64> {
    let short = decimal(range).into_iter().filter(|(value, _)| *value < 9.9);
    chosen(short.chain(TIMES).collect(), range, many)
}

/// How such a time is written.
pub(in crate::report) fn round_time(seconds: f64) -> String {
    let whole = |unit: f64| (seconds / unit).round();
    let is_whole = |unit: f64| seconds > unit * 0.9 && (whole(unit) * unit / seconds - 1.0).abs() < 1e-9;
    let unit = [(DAY, "d"), (HOUR, "h"), (MINUTE, "min")]
        .into_iter()
        .find(|(unit, _)| is_whole(*unit));
    unit.map_or_else(|| time(seconds), |(unit, name)| format!("{} {name}", whole(unit)))
}

/// Values with one digit, and whether they are powers of ten.
fn decimal((low, high): (f64, f64)) -> Vec<(f64, bool)> {
    #[expect(clippy::cast_possible_truncation, reason = "exponents of floating-point numbers")]
    let [from, to] = [low.log10().floor(), high.log10().ceil()].map(|exponent| exponent as i32);
    let power = |exponent| {
        [1.0, 2.0, 5.0].map(|digit| (format!("{digit}e{exponent}").parse().unwrap_or(f64::NAN), digit < 2.0))
    };
    (from..=to).flat_map(power).collect()
}

fn chosen(all: Vec<(f64, bool)>, (low, high): (f64, f64), many: usize) -> Vec<f64> {
    let inside: Vec<_> = all
        .into_iter()
        .filter(|(value, _)| (low..=high).contains(value))
        .collect();
    if inside.len() < 2 {
        // A short axis has its ends.
        let (low, high) = (low * ROOM, high / ROOM);
        return if high / low > ROOM { vec![low, high] } else { vec![low] };
    }
    let (rounder, others): (Vec<_>, Vec<_>) = inside.into_iter().partition(|(_, is_round)| *is_round);
    let every = rounder.len().div_ceil(many).max(1);
    let mut kept: Vec<f64> = rounder.into_iter().step_by(every).map(|(value, _)| value).collect();
    let room = (high / low).ln() / many as f64;
    for (value, _) in others {
        if kept.iter().all(|other| (value / other).ln().abs() >= room) {
            kept.push(value);
        }
    }
    kept.sort_unstable_by(f64::total_cmp);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(range: (f64, f64)) -> String {
        let all: Vec<String> = round_times(range, 6).into_iter().map(round_time).collect();
        all.join(", ")
    }

    #[test]
    fn times_are_round_in_their_own_units() {
        assert_eq!(written((0.02, 0.9)), "20 ms, 50 ms, 100 ms, 200 ms, 500 ms");
        assert_eq!(written((0.03, 40.0)), "100 ms, 1 s, 10 s");
        assert_eq!(written((3.0, 700.0)), "10 s, 1 min, 10 min");
        assert_eq!(written((50.0, 8000.0)), "1 min, 10 min, 1 h");
        assert_eq!(written((1000.0, 700_000.0)), "1 h, 6 h, 1 d, 7 d");
        // Between round values there are the ends.
        assert_eq!(written((0.25, 0.36)), "300 ms");
        assert_eq!(written((2.1 / ROOM, 3.3 * ROOM)), "2.1 s, 3.3 s");
        assert_eq!(written((630.0 / ROOM, 1380.0 * ROOM)), "10.5 min, 23 min");
    }

    #[test]
    fn an_axis_has_no_more_than_its_room_whatever_its_length() {
        for (low, high) in [(1e-15, 1.0), (1e-300, 1.0), (0.011, 0.019), (1e-3, 0.6)] {
            assert!(round((low, high), 6).len() <= 7);
        }
        assert_eq!(round((1e-3, 0.6), 6), [1e-3, 1e-2, 1e-1, 0.5]);
        assert_eq!(round((0.1, 0.6), 6), [0.1, 0.2, 0.5]);
    }
}
