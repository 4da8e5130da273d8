//! Records that an older program has written, in the present form, so that a collection of them outlives the format.

use serde_json::Value;

use super::old_texts::typed;

/// The record as this program would have written it; one in the present form stays as it is.
pub fn converted(mut record: Value) -> Value {
    typed(&mut record);
    record
}
