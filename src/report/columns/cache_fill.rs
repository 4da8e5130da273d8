//! What became of the database behind the cache.

use super::arm::Arm;
use super::column::Column::Figure;
use super::column::Shown::{self, Always, IfAny};
use crate::metrics::Metric;

/// What became of the database behind the cache.
pub(crate) const CACHE_FILL: &[Shown] = &[
    Always(Figure(Metric::Hits)),
    Always(Figure(Metric::StaleReads)),
    Always(Figure(Metric::DbHits)),
    Always(Figure(Metric::Expiries)),
    Always(Figure(Metric::DbHitsPerExpiry)),
    Always(Figure(Metric::DbHitsPerExpiryMax)),
    IfAny(Figure(Metric::DuplicatePages)),
    IfAny(Figure(Metric::MissingPages)),
];

/// Whether there is nothing that hits could be told of.
pub(super) const fn nothing_expired(arm: &Arm<'_>) -> bool {
    arm.figures.db_hits_per_expiry.expiries == 0
}
