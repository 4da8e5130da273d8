use super::super::kind::{Display, WorkloadWords};
use crate::metrics::Column::Figure;
use crate::metrics::Shown::{self, Always, IfAny};
use crate::metrics::units::{count, counted, mean, micros};
use crate::metrics::{Count, Figures, Metric, Time};

/// The columns about the database behind the cache.
const COLUMNS: &[Shown] = &[
    Always(Figure(Metric::Hits)),
    Always(Figure(Metric::StaleReads)),
    Always(Figure(Metric::DbHits)),
    Always(Figure(Metric::Expiries)),
    Always(Figure(Metric::DbHitsPerExpiry)),
    Always(Figure(Metric::DbHitsPerExpiryMax)),
    IfAny(Figure(Metric::DuplicatePages)),
    IfAny(Figure(Metric::MissingPages)),
];

/// What is shown of caches, with or without lists. A wrong list is worse than a database with too much work.
pub(super) fn display(has_pages: bool) -> Display {
    let plain = Display {
        verdicts: &[Metric::DbHitsPerExpiry],
        table: "cache",
        columns: COLUMNS,
        console: &[
            (Metric::StaleReads, 8),
            (Metric::GaveUp, 9),
            (Metric::DbHitsPerExpiry, 0),
        ],
        lanes: &[Metric::NoQuorum, Metric::DbHits, Metric::StaleReads],
        cost: Metric::DbHits,
        words: WorkloadWords {
            without_lock: "all refill at once",
            own_mutex: "each server refills",
            guarded: "one refill at a time",
            poor: "STAMPEDES",
        },
    };
    if !has_pages {
        return plain;
    }
    Display {
        verdicts: &[Metric::DuplicatePages, Metric::MissingPages, Metric::DbHitsPerExpiry],
        console: &[
            (Metric::GaveUp, 9),
            (Metric::DbHitsPerExpiry, 8),
            (Metric::MissingPages, 1),
            (Metric::DuplicatePages, 0),
        ],
        ..plain
    }
}

/// What an arm did, in clauses.
pub(super) fn clauses(figures: &Figures) -> Vec<String> {
    let per_expiry = figures.db_hits_per_expiry;
    let expiries = counted(per_expiry.expiries, "expiry", "expiries");
    let mut parts = vec![match (per_expiry.expiries, per_expiry.max) {
        (0, _) => {
            let times = counted(figures.counts[Count::DbHits], "time", "times");
            format!("asked the database {times} while nothing expired")
        }
        (_, 1) => format!("asked the database exactly once at each of {expiries}"),
        (_, max) => {
            let (times, max) = (mean(per_expiry.mean), count(max));
            format!("asked the database {times} times per expiry, {max} at worst, over {expiries}")
        }
    }];
    let response = figures.times[Time::Response];
    if response.count > 0 {
        parts.push(format!("99 % of the reads took at most {}", micros(response.p99)));
    }
    if figures.duplicate_pages + figures.missing_pages > 0 {
        let twice = counted(figures.duplicate_pages, "page twice", "pages twice");
        let missing = count(figures.missing_pages);
        parts.push(format!("lists said to be complete held {twice} and lacked {missing}"));
    }
    if figures.counts[Count::StaleReads] > 0 {
        let reads = counted(figures.counts[Count::StaleReads], "read was", "reads were");
        parts.push(format!("{reads} stale"));
    }
    parts
}
