//! What a kept lab refuses, as a failure of the command.

use lockstorm_lab::kept::KeptError;

use crate::failure::Failure;

pub(super) fn failure(error: KeptError) -> Failure {
    if error.is_usage() {
        Failure::usage(error)
    } else {
        Failure::error(error)
    }
}

/// An answer to another question than the one that was asked.
pub(super) fn no_answer() -> Failure {
    failure(KeptError::Strange("it answers another question".to_owned()))
}
