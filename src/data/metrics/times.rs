use std::ops::{Index, IndexMut};

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use strum::VariantArray;

use super::fields;
use super::quantiles::Quantiles;
use super::sums::Time;

/// The quantiles of each time that is measured, in microseconds. In a record each has a field of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times([Quantiles; Time::VARIANTS.len()]);

impl Index<Time> for Times {
    type Output = Quantiles;

    fn index(&self, time: Time) -> &Quantiles {
        &self.0[time as usize]
    }
}

impl IndexMut<Time> for Times {
    fn index_mut(&mut self, time: Time) -> &mut Quantiles {
        &mut self.0[time as usize]
    }
}

/// These; all others are without values.
impl<const N: usize> From<[(Time, Quantiles); N]> for Times {
    fn from(some: [(Time, Quantiles); N]) -> Self {
        let mut times = Self::default();
        for (time, quantiles) in some {
            times[time] = quantiles;
        }
        times
    }
}

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Time::VARIANTS.iter().map(|time| (<&str>::from(time), self[*time])))
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names: Vec<&'static str> = Time::VARIANTS.iter().map(Into::into).collect();
        let mut times = Self::default();
        for (place, quantiles) in times.0.iter_mut().zip(fields::read(deserializer, &names, Time::FIRST)?) {
            *place = quantiles;
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_field_for_each_time_and_misses_none() {
        let quantiles = Quantiles {
            count: 1,
            max: 7,
            ..Quantiles::default()
        };
        let times = Times::from([(Time::Response, quantiles)]);
        let text = serde_json::to_string(&times).expect("numbers are JSON");
        assert!(text.contains("\"response_us\":{\"count\":1,"), "{text}");
        assert_eq!(serde_json::from_str::<Times>(&text).expect("its own text"), times);
        let error = serde_json::from_str::<Times>(&text.replace("\"response_us\"", "\"other\"")).expect_err("one less");
        assert!(error.to_string().contains("missing field `response_us`"), "{error}");
        // A record that was written before takeovers were measured has none.
        let older = text.replace("\"takeover_us\"", "\"other\"");
        assert_eq!(serde_json::from_str::<Times>(&older).expect("an older record"), times);
    }
}
