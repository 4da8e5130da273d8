use super::metric::{Metric, Unit, Value};
use super::units::{count, mean, micros, rate, whole};

/// A figure, or a bound for it, with its unit: `1,400`, `4.00`, `0.42 ms`, `398/s`.
#[must_use]
pub fn figure(metric: Metric, value: f64) -> String {
    match metric.unit() {
        Unit::Micros => micros(whole(value)),
        Unit::PerSecond => format!("{}/s", rate(value)),
        Unit::Count if matches!(metric.row().value, Value::Mean(..)) || value.fract() != 0.0 => mean(value),
        Unit::Count => count(whole(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_their_unit() {
        let figures = [
            (Metric::Oversold, 1400.0, "1,400"),
            (Metric::DbHitsPerExpiry, 86.25, "86.2"),
            (Metric::DbHitsPerExpiry, 4.0, "4.00"),
            (Metric::AcquireP99, 2_100.0, "2.1 ms"),
            (Metric::Throughput, 398.4, "398/s"),
        ];
        for (metric, value, text) in figures {
            assert_eq!(figure(metric, value), text);
        }
    }
}
