use std::borrow::Cow;

use hdrhistogram::Histogram;

use super::histogram::{Quantiles, histogram};

/// How many values are kept one by one: 4 KiB, where a histogram takes 16 to 160.
const FEW: usize = 1024;

/// Times in microseconds. A tenth of a second of one app server has few of them, and a collector that comes late finds
/// many such tenths. With a histogram for each, every delay would cost memory that is never given back.
#[derive(Debug, Clone, Default)]
pub struct Durations {
    few: Vec<u32>,
    /// Used once there are more values; it contains the few too.
    many: Option<Histogram<u64>>,
}

impl Durations {
    /// Adds a value. A value above 2³² − 1 counts as that.
    pub fn record(&mut self, micros: u64) {
        match &mut self.many {
            None if self.few.len() < FEW => self.few.push(u32::try_from(micros).unwrap_or(u32::MAX)),
            None => {
                let mut many = histogram();
                self.add_to(&mut many);
                // The histogram resizes itself, so no value is out of range.
                let _ = many.record(micros);
                self.few = Vec::new();
                self.many = Some(many);
            }
            Some(many) => {
                let _ = many.record(micros);
            }
        }
    }

    /// Adds all values to a histogram that resizes itself.
    pub fn add_to(&self, sum: &mut Histogram<u64>) {
        for micros in &self.few {
            let _ = sum.record(u64::from(*micros));
        }
        if let Some(many) = &self.many {
            let _ = sum.add(many);
        }
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        match &other.many {
            Some(_) => {
                let mut sum = self.many.take().unwrap_or_else(histogram);
                self.add_to(&mut sum);
                other.add_to(&mut sum);
                *self = Self {
                    few: Vec::new(),
                    many: Some(sum),
                };
            }
            None => other.few.iter().for_each(|micros| self.record(u64::from(*micros))),
        }
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.many.as_ref().map_or(self.few.len() as u64, Histogram::len)
    }

    /// Its quantiles, with a histogram's rounding; all zero if it is empty.
    pub fn quantiles(&self) -> Quantiles {
        match &self.many {
            Some(many) => Quantiles::of(many),
            None => Quantiles::of_few(&self.few),
        }
    }

    /// All values as a histogram; `None` if there are none.
    pub fn histogram(&self) -> Option<Cow<'_, Histogram<u64>>> {
        match &self.many {
            Some(many) => Some(Cow::Borrowed(many)),
            None if self.few.is_empty() => None,
            None => {
                let mut few = histogram();
                self.add_to(&mut few);
                Some(Cow::Owned(few))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Durations {
        let mut durations = Durations::default();
        values.into_iter().for_each(|micros| durations.record(micros));
        durations
    }

    /// A histogram of the same values.
    fn expected(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut sum = histogram();
        values
            .into_iter()
            .for_each(|micros| sum.record(micros).expect("it resizes"));
        sum
    }

    #[test]
    fn few_and_many_values_make_the_same_histogram() {
        for n in [1, 1023, 1024, 1025, 5000] {
            let values = || (1..=n).map(|n| n * 137);
            assert_eq!(
                of(values()).histogram().as_deref(),
                Some(&expected(values())),
                "{n} values"
            );
        }
        assert!(Durations::default().histogram().is_none());
    }

    #[test]
    fn sums_are_of_all_values_whichever_were_few() {
        for (a, b) in [(10, 20), (10, 2000), (2000, 10), (2000, 2000), (1000, 1000)] {
            let mut sum = of(1..=a);
            sum.add(&of(500..500 + b));
            let all = expected((1..=a).chain(500..500 + b));
            assert_eq!(sum.histogram().as_deref(), Some(&all), "{a} and {b}");
        }
    }
}
