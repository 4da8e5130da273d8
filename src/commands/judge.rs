//! How runs came out, as an exit code.

use lockstorm_run::{CheckResult, Record};

use crate::exit_code;

/// The exit code for these records: a failed expectation, including one that proven damage broke, outweighs an inconclusive one.
pub(super) fn judge<'a>(records: impl IntoIterator<Item = &'a Record>) -> u8 {
    let (mut has_failed, mut is_open) = (false, false);
    for record in records {
        let any = |result| record.expectations.iter().any(|checked| checked.result == result);
        has_failed |= any(CheckResult::Failed);
        is_open |= any(CheckResult::Inconclusive) || !record.inconclusive.is_empty() || !record.partial.is_empty();
    }
    if has_failed {
        exit_code::NO
    } else if is_open {
        exit_code::INCONCLUSIVE
    } else {
        0
    }
}
