//! Plain counts, counted one by one where things happen, as one array: from the recorder to the record.

use std::ops::{Index, IndexMut};

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use strum::{IntoStaticStr, VariantArray};

use super::fields;

/// A plain count. Its name in a record is the variant in snake case; the metric of the same name describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "see `Metric::row`")]
#[repr(usize)]
pub enum Count {
    Begun,
    Completed,
    Late,
    SoldOut,
    DbHits,
    Hits,
    StaleReads,
    GaveUp,
    LocksLost,
    Overran,
    Aborted,
    Fenced,
    Errors,
    Stalled,
}

impl Count {
    /// The counts that records had from the beginning; one written before a count was there lacks its field.
    const FIRST: usize = Self::Errors as usize + 1;
}

/// The value of each count. In a record each is a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts([u64; Count::VARIANTS.len()]);

impl Counts {
    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        for (sum, n) in self.0.iter_mut().zip(other.0) {
            *sum += n;
        }
    }

    /// Requests that got an answer: not an error, a refusal, or work that was dropped.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self[Count::Completed]
            .saturating_sub(self[Count::GaveUp] + self[Count::Aborted] + self[Count::Fenced] + self[Count::Errors])
    }
}

impl Index<Count> for Counts {
    type Output = u64;

    fn index(&self, count: Count) -> &u64 {
        &self.0[count as usize]
    }
}

impl IndexMut<Count> for Counts {
    fn index_mut(&mut self, count: Count) -> &mut u64 {
        &mut self.0[count as usize]
    }
}

/// These values; all other counts are 0.
impl<const N: usize> From<[(Count, u64); N]> for Counts {
    fn from(some: [(Count, u64); N]) -> Self {
        let mut counts = Self::default();
        for (count, n) in some {
            counts[count] = n;
        }
        counts
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Count::VARIANTS.iter().map(|count| (<&str>::from(count), self[*count])))
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names: Vec<&'static str> = Count::VARIANTS.iter().map(Into::into).collect();
        let mut counts = Self::default();
        for (place, n) in counts
            .0
            .iter_mut()
            .zip(fields::read(deserializer, &names, Count::FIRST)?)
        {
            *place = n;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_field_for_each_count_and_misses_none() {
        let counts = Counts::from([(Count::Hits, 3), (Count::Errors, 1)]);
        let text = serde_json::to_string(&counts).expect("numbers are JSON");
        assert!(text.contains("\"hits\":3,\"stale_reads\":0,"), "{text}");
        assert_eq!(serde_json::from_str::<Counts>(&text).expect("its own text"), counts);
        let error = serde_json::from_str::<Counts>(&text.replace("\"hits\":3,", "\"other\":3,")).expect_err("no hits");
        assert!(error.to_string().contains("missing field `hits`"), "{error}");
    }
}
