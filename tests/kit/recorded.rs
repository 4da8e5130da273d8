//! Records that the program has written.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use jsonschema::Validator;
use lockstorm_run::Record;
use serde_json::Value;

static SCHEMA: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(Record::schema().as_value()).expect("a schema"));

/// A record, which must be as the schema says.
#[track_caller]
pub fn recorded(json: &[u8]) -> Record {
    let value: Value = serde_json::from_slice(json).expect("JSON");
    let errors: Vec<String> = departures(&value);
    assert!(errors.is_empty(), "not as the schema says: {errors:#?}");
    serde_json::from_slice(json).expect("a record")
}

/// The same of a file.
#[track_caller]
pub fn recorded_in(path: impl AsRef<Path>) -> Record {
    recorded(&fs::read(path).expect("a file"))
}

/// In what a record is not as the schema says.
pub fn departures(record: &Value) -> Vec<String> {
    let errors = SCHEMA.iter_errors(record).take(20);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}
