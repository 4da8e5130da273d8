//! Plain counts, counted one by one where things happen.

use strum::{IntoStaticStr, VariantArray};

use super::fields::{FieldName, Fields};

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
    LateWrites,
    BareQuorums,
    Aborted,
    Fenced,
    Errors,
    Stalled,
    CutOff,
}

impl FieldName for Count {
    fn place(self) -> usize {
        self as usize
    }
}

/// The value of each count.
pub type Counts = Fields<Count, u64, { Count::VARIANTS.len() }>;

impl Counts {
    /// Requests that got an answer: not an error, a refusal, or work that was dropped.
    pub fn answered(&self) -> u64 {
        self[Count::Completed]
            .saturating_sub(self[Count::GaveUp] + self[Count::Aborted] + self[Count::Fenced] + self[Count::Errors])
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
