//! How figures are written for people; the same in the console, the summary and the sentences.

pub use crate::model::setting;

/// Microseconds as milliseconds or seconds, two digits: `0.42 ms`, `2.1 ms`, `61 ms`, `1.3 s`.
pub fn micros(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{:.2} ms", micros as f64 / 1e3),
        1_000..9_950 => format!("{:.1} ms", micros as f64 / 1e3),
        9_950..999_500 => format!("{:.0} ms", micros as f64 / 1e3),
        999_500..9_950_000 => format!("{:.1} s", micros as f64 / 1e6),
        _ => format!("{:.0} s", micros as f64 / 1e6),
    }
}

/// A count with a thousands separator: `1,600`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 order`, `1,600 orders`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// The middle one of sorted values; of an even number the mean of the two in the middle; `None` without any.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let lower = sorted.len().checked_sub(1)? / 2;
    Some(f64::midpoint(*sorted.get(lower)?, *sorted.get(sorted.len() / 2)?))
}

/// A rate without its unit: `4.2`, `398`, `12,000`.
pub fn rate(per_second: f64) -> String {
    if per_second < 9.95 {
        format!("{per_second:.1}")
    } else {
        count(rounded(per_second))
    }
}

/// A mean with three digits, whole from a hundred on: `1.00`, `86.2`, `1,302`.
pub fn mean(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        count(rounded(value))
    }
}

/// The nearest whole number: 0 for what is negative or no number, the largest for what is larger.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast ends at the limits"
)]
pub fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// The nearest place in a list or number of cells, as [`rounded`].
pub fn place(value: f64) -> usize {
    usize::try_from(rounded(value)).unwrap_or(usize::MAX)
}

/// A count in at most five columns: `9,999`, `12.3k`, `123k`, `4.5M`.
pub fn short_count(n: u64) -> String {
    let value = n as f64;
    match n {
        0..10_000 => count(n),
        10_000..99_950 => format!("{:.1}k", value / 1e3),
        99_950..999_500 => format!("{:.0}k", value / 1e3),
        999_500..99_950_000 => format!("{:.1}M", value / 1e6),
        99_950_000..999_500_000 => format!("{:.0}M", value / 1e6),
        _ => format!("{:.1}G", value / 1e9),
    }
}

/// A rate in at most five columns, whole: `4`, `398`, `12.0k`.
pub fn short_rate(per_second: f64) -> String {
    short_count(rounded(per_second))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn durations_keep_two_digits() {
        let texts: Vec<_> = [
            0, 420, 999, 1_000, 2_149, 9_950, 61_400, 999_499, 999_500, 9_949_999, 61_000_000,
        ]
        .map(micros)
        .into();
        assert_eq!(
            texts,
            [
                "0.00 ms", "0.42 ms", "1.00 ms", "1.0 ms", "2.1 ms", "10 ms", "61 ms", "999 ms", "1.0 s", "9.9 s",
                "61 s"
            ]
        );
    }

    #[test]
    fn settings_have_no_needless_zeros() {
        let said: Vec<_> = [2_000, 1_500, 500, 5]
            .map(|ms| setting(Duration::from_millis(ms)))
            .into();
        assert_eq!(said, ["2 s", "1.5 s", "500 ms", "5 ms"]);
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(
            [0, 12, 999, 1_000, 1_234_567].map(count),
            ["0", "12", "999", "1,000", "1,234,567"]
        );
        assert_eq!(counted(1, "order", "orders"), "1 order");
        assert_eq!(counted(1_600, "order", "orders"), "1,600 orders");
    }

    #[test]
    fn short_counts_stay_within_five_columns() {
        let said: Vec<_> = [0, 9_999, 10_000, 12_345, 99_949, 123_456, 999_500, 45_000_000]
            .map(short_count)
            .into();
        assert_eq!(said, ["0", "9,999", "10.0k", "12.3k", "99.9k", "123k", "1.0M", "45.0M"]);
        assert_eq!([4.2, 398.4, 12_000.0].map(short_rate), ["4", "398", "12.0k"]);
    }

    #[test]
    fn means_have_three_digits() {
        let said: Vec<_> = [1.0, 1.05, 9.996, 86.25, 99.96, 1302.4].map(mean).into();
        assert_eq!(said, ["1.00", "1.05", "10.0", "86.2", "100", "1,302"]);
    }

    #[test]
    fn small_rates_keep_a_digit() {
        assert_eq!(
            [0.0, 4.2, 9.96, 398.4, 12_000.0].map(rate),
            ["0.0", "4.2", "10", "398", "12,000"]
        );
    }
}
