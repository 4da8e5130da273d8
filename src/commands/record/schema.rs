use std::process::ExitCode;

use lockstorm_run::Record;

use crate::commands::print::print;
use crate::failure::Failure;

/// Prints the JSON Schema of records.
pub(super) fn schema() -> Result<ExitCode, Failure> {
    print(format!("{:#}\n", Record::schema().as_value()))
}
