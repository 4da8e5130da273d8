//! Histograms of times, their quantiles, and their text in records.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::units;

/// The longest time that is distinguished; longer times count as this.
pub const LONGEST: Duration = Duration::from_mins(10);

/// An empty histogram with three significant digits, which grows with its largest value. Runs count microseconds; the
/// bench counts nanoseconds, because the third digit of a 40 µs acquire is less than a microsecond.
pub fn histogram() -> Histogram<u64> {
    // The constructor accepts a precision of 0 to 5.
    let mut histogram = Histogram::new(3).expect("3 significant digits are valid");
    histogram.auto(true);
    histogram
}

/// A time in microseconds, at least 1.
pub fn in_micros(took: Duration) -> u64 {
    u64::try_from(took.min(LONGEST).as_micros()).map_or(u64::MAX, |micros| micros.max(1))
}

/// A time in nanoseconds, at least 1.
pub fn in_nanos(took: Duration) -> u64 {
    u64::try_from(took.min(LONGEST).as_nanos()).map_or(u64::MAX, |nanos| nanos.max(1))
}

/// A quantile of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Quantile {
    P50,
    P90,
    P99,
    P999,
    Max,
}

/// A latency distribution in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// How many values were recorded.
    pub count: u64,
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The largest value.
    pub max: u64,
}

impl Quantiles {
    /// The quantiles that a [`histogram`] of these few values has, without one, which takes 16 to 160 KiB; all zero if there is no
    /// value.
    pub(super) fn of_few(values: &[u32]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let Some(max) = sorted.last() else {
            return Self::default();
        };
        // As HdrHistogram does: the value whose rank is the quantile's share of them, rounded up, or what is counted as equal to it.
        let at = |quantile: f64| {
            let rank = units::place((quantile * sorted.len() as f64).ceil());
            highest_equivalent(sorted[rank.clamp(1, sorted.len()) - 1])
        };
        Self {
            count: sorted.len() as u64,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: highest_equivalent(*max),
        }
    }

    /// The quantiles of a histogram of microseconds; all zero if it is empty.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        Self {
            count: histogram.len(),
            p50: histogram.value_at_quantile(0.5),
            p90: histogram.value_at_quantile(0.9),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            max: histogram.max(),
        }
    }

    /// The value of one quantile.
    pub const fn get(&self, quantile: Quantile) -> u64 {
        match quantile {
            Quantile::P50 => self.p50,
            Quantile::P90 => self.p90,
            Quantile::P99 => self.p99,
            Quantile::P999 => self.p999,
            Quantile::Max => self.max,
        }
    }
}

/// Two quantiles of a distribution in microseconds, for a point of a series; both 0 if it is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The median.
    pub p50: u32,
    /// The 99th percentile.
    pub p99: u32,
}

impl From<Quantiles> for Latency {
    fn from(Quantiles { p50, p99, .. }: Quantiles) -> Self {
        let [p50, p99] = [p50, p99].map(|micros| u32::try_from(micros).unwrap_or(u32::MAX));
        Self { p50, p99 }
    }
}

/// The largest value that a [`histogram`] counts as equal to this one: it has 1,024 steps for each power of two from 2,048 on.
const fn highest_equivalent(value: u32) -> u64 {
    let step = (u32::BITS - value.leading_zeros()).saturating_sub(11);
    ((value as u64) >> step << step) + (1 << step) - 1
}

/// A whole histogram as text: HdrHistogram's V2 encoding, compressed, in base64. The HdrHistogram libraries of all
/// languages can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HistogramText(String);

/// The text is not a histogram.
#[derive(Debug, thiserror::Error)]
#[error("not a compressed HdrHistogram in base64: {0}")]
pub struct NotAHistogram(String);

impl HistogramText {
    /// Encodes a histogram.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(histogram, &mut bytes)
            // It fails only if a write fails, which never happens with a Vec, or for a count beyond 2^63.
            .expect("a histogram of what was counted one by one can be encoded");
        Self(STANDARD.encode(bytes))
    }

    /// Decodes the histogram.
    ///
    /// # Errors
    /// The text is not a histogram; this can happen in a record that another program wrote.
    pub fn decode(&self) -> Result<Histogram<u64>, NotAHistogram> {
        let bytes = STANDARD.decode(&self.0);
        let bytes = bytes.map_err(|error| NotAHistogram(error.to_string()))?;
        let histogram = Deserializer::new().deserialize(&mut bytes.as_slice());
        histogram.map_err(|error| NotAHistogram(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_encoded_histogram_can_be_decoded() {
        let mut many = histogram();
        for micros in 1..=20_000 {
            many.record(micros * 37).expect("it resizes");
        }
        let text = HistogramText::of(&many);
        let read = text.decode().expect("a histogram");
        assert_eq!(read, many);
        assert_eq!(Quantiles::of(&read), Quantiles::of(&many));
        // Other languages' libraries expect this: the cookie of the compressed V2 form.
        assert!(text.0.starts_with("HISTF"), "{}", text.0);
        let none = HistogramText::of(&histogram()).decode().expect("a histogram");
        assert!(none.is_empty());
    }

    proptest! {
        #[test]
        fn the_quantiles_of_few_values_are_those_of_their_histogram(
            values in proptest::collection::vec((any::<u32>(), 0_u32..32).prop_map(|(value, shift)| value >> shift), 0..1100),
        ) {
            let mut all = histogram();
            for value in &values {
                all.record(u64::from(*value)).expect("it resizes");
            }
            prop_assert_eq!(Quantiles::of_few(&values), Quantiles::of(&all));
        }
    }

    #[test]
    fn steps_are_those_of_a_histogram() {
        for value in [0, 1, 2047, 2048, 2049, 4095, 4096, 4097, u32::MAX] {
            let equivalent = histogram().highest_equivalent(u64::from(value));
            assert_eq!(highest_equivalent(value), equivalent, "{value}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for other in ["", "no base64!", "HISTFA==", "AAAAAAAAAAAA"] {
            let error = HistogramText(other.to_owned()).decode().unwrap_err();
            assert!(error.to_string().starts_with("not a compressed"), "{error}");
        }
    }
}
