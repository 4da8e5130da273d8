//! How runs came out, as an exit code.

use lockstorm_run::Record;

use crate::exit_code;

/// The exit code for these records.
pub(super) fn judge<'a>(records: impl IntoIterator<Item = &'a Record>) -> u8 {
    let results = records.into_iter().map(|record| record.judge().result());
    results.max().map_or(0, exit_code::of)
}
