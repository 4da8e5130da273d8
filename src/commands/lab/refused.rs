//! How the kept lab is, and what it refuses as a failure of the command.

use lockstorm_lab::kept::{Answer, KeptError, Request, Status, find};

use crate::failure::Failure;

pub(super) fn failure(error: KeptError) -> Failure {
    if error.is_usage() {
        Failure::usage(error)
    } else {
        Failure::error(error)
    }
}

/// How the lab is that is kept now, if there is one.
pub(super) fn status_of_kept() -> Result<Option<Status>, Failure> {
    let Some(kept) = find().map_err(failure)? else {
        return Ok(None);
    };
    match kept.ask(&Request::Status).map_err(failure)? {
        Answer::Status(status) => Ok(Some(*status)),
        Answer::Refused(why) => Err(Failure::error(why)),
        _ => Err(no_answer()),
    }
}

/// An answer to another question than the one that was asked.
pub(super) fn no_answer() -> Failure {
    failure(KeptError::Strange("it answers another question".to_owned()))
}
