//! What the ledger of a workload counts, each under the workload's own name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::fields::{FieldName, Fields};

/// A number that a ledger shows. Its name in a record is the variant in snake case; the metric of the same name describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "see `Metric::row`")]
#[repr(usize)]
pub enum Entry {
    Orders,
    Oversold,
    LostUpdates,
    LostUpdatesPeak,
    Runs,
    RunAgain,
    Missed,
    Payments,
    MoneyMade,
    MoneyLost,
}

impl FieldName for Entry {
    fn place(self) -> usize {
        self as usize
    }
}

/// The numbers of a ledger, or of a part of it.
pub type Entries = Fields<Entry, u64, { Entry::VARIANTS.len() }>;

/// The numbers of a workload's ledger; `None` for those of other workloads.
pub type KnownEntries = Fields<Entry, Option<u64>, { Entry::VARIANTS.len() }>;

impl<const SOME: usize> From<[(Entry, u64); SOME]> for KnownEntries {
    fn from(some: [(Entry, u64); SOME]) -> Self {
        some.map(|(entry, number)| (entry, Some(number))).into()
    }
}

/// What the orders of a ledger are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrdersOf {
    /// Sales of one unit of a product.
    Sales,
    /// Runs of ticks of jobs. A tick is a product with one unit, and most of them are never due.
    Ticks,
    /// Payments of two orders each, of which one takes a unit off an account and the other one adds it to another. An account is a product.
    Payments,
}

/// The names of what a ledger shows.
#[derive(Debug, Clone, Copy)]
pub struct EntryNames {
    /// The number of orders; of two that belong together the first counts.
    pub orders: Entry,
    /// By how much orders left more units than they should have, since they overwrote others. A run of a tick overwrites nothing.
    pub overwritten: Option<Entry>,
    /// Orders beyond the initial stock; where units move, by how much orders left fewer than they should have.
    pub beyond: Entry,
}

impl EntryNames {
    const fn new(orders: Entry, overwritten: Option<Entry>, beyond: Entry) -> Self {
        Self {
            orders,
            overwritten,
            beyond,
        }
    }

    /// All of them.
    pub fn all(self) -> impl Iterator<Item = Entry> {
        let peak = self.overwritten.and_then(Entry::peak);
        let others = [self.overwritten, peak].into_iter().flatten();
        [self.orders, self.beyond].into_iter().chain(others)
    }
}

impl OrdersOf {
    /// The names of its numbers.
    pub const fn names(self) -> EntryNames {
        match self {
            Self::Sales => EntryNames::new(Entry::Orders, Some(Entry::LostUpdates), Entry::Oversold),
            Self::Ticks => EntryNames::new(Entry::Runs, None, Entry::RunAgain),
            Self::Payments => EntryNames::new(Entry::Payments, Some(Entry::MoneyMade), Entry::MoneyLost),
        }
    }

    /// Whether units move from one product to another, by two orders. Then nothing makes up for damage.
    pub const fn moves_units(self) -> bool {
        matches!(self, Self::Payments)
    }
}

impl Entry {
    /// What makes it grow.
    pub const fn made_by(self) -> &'static str {
        match self {
            Self::Orders | Self::Oversold | Self::LostUpdates | Self::LostUpdatesPeak => "sale",
            Self::Runs | Self::RunAgain | Self::Missed => "run",
            Self::Payments | Self::MoneyMade | Self::MoneyLost => "payment",
        }
    }

    /// Its largest value so far, if it can fall.
    pub const fn peak(self) -> Option<Self> {
        match self {
            Self::LostUpdates => Some(Self::LostUpdatesPeak),
            _ => None,
        }
    }
}

impl KnownEntries {
    /// As they were when the seconds until then had `booked` so much. By the second it is known what was overwritten, of which some may have
    /// been made up for; `is_lost`: whether anything was overwritten by then.
    #[must_use]
    pub fn until(&self, booked: &Entries, is_lost: bool) -> Self {
        let mut then = Self::default();
        for entry in Entry::VARIANTS {
            then[*entry] = then[*entry].or_else(|| self[*entry].map(|_| booked[*entry]));
            if let Some(peak) = entry.peak()
                && let Some(most) = self[peak]
            {
                let lost = booked[*entry].min(most).max(u64::from(is_lost && most > 0));
                (then[*entry], then[peak]) = (Some(lost), Some(lost));
            }
        }
        then
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Figures, Metric};

    #[test]
    fn a_record_has_the_names_of_its_workload_alone() {
        let entries = KnownEntries::from([(Entry::Runs, 7), (Entry::RunAgain, 0)]);
        let text = serde_json::to_string(&Written { entries }).expect("numbers are JSON");
        assert_eq!(text, r#"{"runs":7,"run_again":0}"#);
        let read: Written = serde_json::from_str(&text).expect("its own text");
        assert_eq!(read.entries, entries);
    }

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Written {
        #[serde(flatten, with = "super::super::fields::sparse")]
        entries: KnownEntries,
    }

    #[test]
    fn every_entry_is_a_metric_of_its_name() {
        for entry in Entry::VARIANTS {
            let name: &str = entry.into();
            let metric = Metric::VARIANTS.iter().find(|metric| metric.name() == name);
            let figures = Figures {
                ledger: [(*entry, 3)].into(),
                ..Figures::default()
            };
            let value = metric.map(|metric| metric.of(&figures));
            assert_eq!(
                value,
                Some(3.0),
                "{entry:?} needs a metric {name}, with Booked(Entry::{entry:?}) in its row"
            );
        }
    }
}
