//! What another program did under its locks, as it reported that itself (`lockstorm judge`). It is in records alone: it was not played
//! here, and nothing can play it.

use super::super::spec::{DatabaseSpec, ServiceTime};
use super::super::writer::Writer;
use super::kind::{CacheKeys, Display, Initial, Row, Section, WorkloadKind, WorkloadWords};
use crate::metrics::Column::Figure;
use crate::metrics::Shown::{self, Always};
use crate::metrics::units::counted;
use crate::metrics::{Figures, Group, Metric};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ROW: Row = Row {
    keys: &[],
    arm_keys: &[],
};

/// What another program did. How much of it is known is in the record, since no two runs report the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedSpec {}

const COLUMNS: &[Shown] = &[Always(Figure(Metric::Unguarded))];

impl WorkloadKind for ReportedSpec {
    fn groups(&self) -> &'static [Group] {
        &[Group::Reported]
    }

    /// No file describes it.
    fn write(&self, _out: &mut Writer) {}

    fn section(&self) -> Section {
        Section {
            reads: 0,
            hold: ServiceTime::ZERO,
        }
    }

    fn live_time(&self, _database: &DatabaseSpec) -> ServiceTime {
        ServiceTime::ZERO
    }

    fn initial(&self) -> Initial {
        Initial::default()
    }

    fn lock_names(&self) -> Box<dyn Iterator<Item = String> + '_> {
        Box::new(std::iter::empty())
    }

    fn cache_keys(&self) -> CacheKeys {
        CacheKeys::default()
    }

    fn display(&self) -> Display {
        Display {
            verdicts: &[Metric::DoubleHolds, Metric::Unguarded],
            table: "reported",
            columns: COLUMNS,
            console: &[(Metric::Unguarded, 1), (Metric::DoubleHolds, 0)],
            lanes: &[Metric::DoubleHolds, Metric::DoubleUses],
            cost: Metric::DoubleHolds,
            words: WorkloadWords {
                without_lock: "no lock",
                own_mutex: "one mutex per server",
                guarded: "one holder at a time",
                poor: "poor",
            },
        }
    }

    fn clauses(&self, figures: &Figures, is_doubted: bool) -> Vec<String> {
        let held = counted(figures.outcomes.acquired, "lock", "locks");
        let found = match figures.unguarded {
            None => "what they did inside was not reported".to_owned(),
            Some(0) if is_doubted => "nothing wrong was seen, which proves nothing".to_owned(),
            Some(0) => "no two were inside at once, and nobody worked on without the lock".to_owned(),
            Some(some) => {
                let times = counted(some, "time", "times");
                format!("{times} two were inside at once, or one worked on without the lock")
            }
        };
        vec![format!("acquired {held}"), found]
    }
}
