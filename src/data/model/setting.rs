use std::time::Duration;

/// A duration that somebody has set, in its shortest form: `2 s`, `1.5 s`, `500 ms`, `0.4 ms`.
pub fn setting(value: Duration) -> String {
    let us = value.as_micros();
    let (number, unit) = if us >= 1_000_000 {
        (value.as_secs_f64(), "s")
    } else {
        (value.as_secs_f64() * 1e3, "ms")
    };
    let digits = format!("{number:.2}");
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}
