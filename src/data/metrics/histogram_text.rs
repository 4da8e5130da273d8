use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

/// A whole histogram as text: HdrHistogram's V2 encoding, compressed, in base64. The HdrHistogram libraries of all
/// languages can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HistogramText(String);

/// The text is not a histogram.
#[derive(Debug, thiserror::Error)]
#[error("not a compressed HdrHistogram in base64: {0}")]
pub struct NotAHistogram(String);

impl HistogramText {
    /// Encodes a histogram.
    #[must_use]
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
    use crate::metrics::histogram::histogram;
    use crate::metrics::quantiles::Quantiles;

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

    #[test]
    fn other_texts_are_refused() {
        for other in ["", "no base64!", "HISTFA==", "AAAAAAAAAAAA"] {
            let error = HistogramText(other.to_owned()).decode().unwrap_err();
            assert!(error.to_string().starts_with("not a compressed"), "{error}");
        }
    }
}
