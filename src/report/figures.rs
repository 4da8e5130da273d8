//! How a plan's figures are written.

use crate::metrics::units::rate;

/// Seconds as a duration with two or three digits.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s <= 0.0 => "0".to_owned(),
        s if s < 0.000_995 => format!("{:.2} ms", s * 1e3),
        s if s < 0.009_95 => format!("{:.1} ms", s * 1e3),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 99.5 => {
            let digits = format!("{s:.2}");
            format!("{} s", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        s if s < 5400.0 => format!("{:.0} s", s),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A probability or a rate that may be tiny: `30 %`, `0.12 %`, `1.2e-9`.
pub(super) fn small(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".to_owned(),
        v if v < 1e-4 => format!("{v:.1e}"),
        v if v < 0.01 => format!("{:.3}", v),
        v if v < 10.0 => format!("{:.2}", v),
        v => rate(v),
    }
}

/// A probability: `30 %`, `0.123 %`, `1.2e-9`.
pub(super) fn percent(p: f64) -> String {
    match p {
        p if p <= 0.0 => "0".to_owned(),
        p if p < 1e-5 => format!("{p:.1e}"),
        p if p < 0.01 => format!("{:.3} %", p * 100.0),
        p if p < 0.1 => format!("{:.1} %", p * 100.0),
        p => format!("{:.0} %", p * 100.0),
    }
}
