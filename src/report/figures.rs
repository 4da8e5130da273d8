//! How the figures of plans and sweeps are written.

use lockstorm_data::metrics::units::rate;

/// Seconds of a day.
pub(super) const DAY: f64 = 86_400.0;

/// A time of a run in seconds, wherever it is written: `4.1`. What happened has the same time on all of a page.
pub(super) fn moment(seconds: f64) -> String {
    format!("{seconds:.1}")
}

/// Seconds as a duration with two or three digits: `0.42 ms`, `61 ms`, `2.33 s`, `15.2 s`, `16 min`, `1.5 h`, `3 days`.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s <= 0.0 => "0".to_owned(),
        s if s < 0.000_995 => format!("{} ms", short(s * 1e3, 2)),
        s if s < 0.009_95 => format!("{} ms", short(s * 1e3, 1)),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 9.995 => format!("{} s", short(s, 2)),
        s if s < 99.95 => format!("{} s", short(s, 1)),
        s if s < 119.5 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{} min", short(s / 60.0, 1)),
        s if s < 2.0 * DAY => format!("{} h", short(s / 3600.0, 1)),
        s => format!("{} days", short(s / DAY, 1)),
    }
}

/// Seconds as [`time`] writes them, but never less than they are.
pub(super) fn at_least(seconds: f64) -> String {
    let unit = match seconds {
        s if s < 0.9995 => 0.001,
        s if s < 9.995 => 0.01,
        s if s < 99.95 => 0.1,
        s if s < 119.5 => 1.0,
        s if s < 5400.0 => 6.0,
        s if s < 2.0 * DAY => 360.0,
        _ => 0.1 * DAY,
    };
    time((seconds / unit - 1e-6).ceil() * unit)
}

/// What happens so often a day: `12 a day`, `1 in 30 days`, `1 in 2.74 years`, `1 in 1.2e9 years`.
pub(super) fn pace(a_day: f64) -> String {
    pace_of(a_day, "1", "")
}

/// The same of `one` or ` many`: `12 overlaps a day`, `one overlap in 30 days`.
pub(super) fn pace_of(a_day: f64, one: &str, many: &str) -> String {
    match 1.0 / a_day {
        _ if a_day <= 0.0 => "0".to_owned(),
        // Its digits would be 1.
        _ if (a_day - 1.0).abs() < 0.005 => format!("{one} a day"),
        days if days < 1.5 => format!("{}{many} a day", small(a_day)),
        days if days < 99.5 => format!("{one} in {} days", short(days, 1)),
        days if days < 730.0 => format!("{one} in {days:.0} days"),
        days if days < 3.65e7 => format!("{one} in {} years", small(days / 365.0)),
        days => format!("{one} in {:.1e} years", days / 365.0),
    }
}

/// An interval of probabilities, with as many digits as it takes to tell its ends apart.
pub(super) fn percents(low: f64, high: f64) -> String {
    let (mut ends, mut digits) = ((percent(low), percent(high)), 1);
    while ends.0 == ends.1 && digits < 6 && low < high {
        ends = (
            format!("{:.digits$} %", low * 100.0),
            format!("{:.digits$} %", high * 100.0),
        );
        digits += 1;
    }
    format!("{} to {}", ends.0, ends.1)
}

/// A number that may be tiny: `0.82`, `2`, `220,066`, `1.2e-9`.
pub(super) fn small(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".to_owned(),
        v if v < 0.001 => format!("{v:.1e}"),
        v if v < 0.01 => short(v, 4),
        v if v < 9.95 => short(v, 2),
        v => rate(v),
    }
}

/// A probability: `30 %`, `0.12 %`, `1.2e-9`.
pub(crate) fn percent(p: f64) -> String {
    match p {
        p if p <= 0.0 => "0".to_owned(),
        p if p < 0.999_5e-5 => format!("{p:.1e}"),
        p if p < 0.001 => format!("{} %", short(p * 100.0, 4)),
        p if p < 0.01 => format!("{} %", short(p * 100.0, 2)),
        p if p < 0.1 => format!("{} %", short(p * 100.0, 1)),
        p => format!("{:.0} %", p * 100.0),
    }
}

/// So many digits after the point at most.
fn short(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_two_or_three_digits_and_no_needless_zeros() {
        let times = [
            0.0, 0.000_42, 0.001, 0.0612, 0.9996, 2.3333, 15.15, 7.0, 100.0, 960.0, 5400.0, 259_200.0,
        ];
        assert_eq!(
            times.map(time),
            [
                "0", "0.42 ms", "1 ms", "61 ms", "1 s", "2.33 s", "15.2 s", "7 s", "100 s", "16 min", "1.5 h", "3 days"
            ]
        );
        let paces = [0.0, 12.0, 1.0 / 30.0, 1.0 / 190.0, 1.0 / 1000.0, 1e-12].map(pace);
        assert_eq!(
            paces,
            [
                "0",
                "12 a day",
                "1 in 30 days",
                "1 in 190 days",
                "1 in 2.74 years",
                "1 in 2.7e9 years"
            ]
        );
        let overlaps = [0.0, 1.0, 0.99, 12.0, 1.0 / 30.0].map(|a_day| pace_of(a_day, "one overlap", " overlaps"));
        assert_eq!(
            overlaps,
            [
                "0",
                "one overlap a day",
                "0.99 overlaps a day",
                "12 overlaps a day",
                "one overlap in 30 days"
            ]
        );
        assert_eq!(percents(0.019, 0.021), "1.9 % to 2.1 %");
        assert_eq!(percents(0.4011, 0.4012), "40.11 % to 40.12 %");
        assert_eq!(percents(0.5, 0.5), "50 % to 50 %");
        let numbers = [0.0, 1.2e-9, 0.0042, 0.82, 2.0, 9.96, 220_066.4].map(small);
        assert_eq!(numbers, ["0", "1.2e-9", "0.0042", "0.82", "2", "10", "220,066"]);
        let chances = [0.0, 3.8e-6, 1e-5, 0.000_07, 0.0042, 0.035, 0.5, 1.0].map(percent);
        assert_eq!(
            chances,
            ["0", "3.8e-6", "0.001 %", "0.007 %", "0.42 %", "3.5 %", "50 %", "100 %"]
        );
    }
}
