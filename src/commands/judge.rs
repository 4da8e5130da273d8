//! How runs came out, as an exit code.

use lockstorm_data::model::CheckResult;
use lockstorm_run::Record;

use crate::exit_code;

/// The exit code for these records.
pub(super) fn judge<'a>(records: impl IntoIterator<Item = &'a Record>) -> u8 {
    code(records.into_iter().map(|record| record.judge().result()))
}

/// The exit code for these results: one that failed outweighs one that is inconclusive.
pub(super) fn code(results: impl Iterator<Item = CheckResult>) -> u8 {
    let (mut has_failed, mut is_open) = (false, false);
    for result in results {
        has_failed |= result == CheckResult::Failed;
        is_open |= result == CheckResult::Inconclusive;
    }
    match (has_failed, is_open) {
        (true, _) => exit_code::NO,
        (false, true) => exit_code::INCONCLUSIVE,
        (false, false) => 0,
    }
}
