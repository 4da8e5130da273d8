use std::process::ExitCode;

use lockstorm_lab::kept::{Answer, Request, Status, find};

use super::refused::{failure, no_answer};
use super::words;
use crate::cli::StatusArgs;
use crate::commands::print::{print, print_for_people};
use crate::failure::{Failure, tell};

/// The exit code if no lab is kept, as service managers have it.
const NONE: u8 = 3;
/// The exit code if nobody can tell how the lab is.
const DOUBT: u8 = 5;

/// Shows the kept lab.
pub fn status(args: &StatusArgs, ascii: bool) -> Result<ExitCode, Failure> {
    let Some(kept) = find().map_err(failure)? else {
        if args.json {
            print("null\n")?;
        }
        tell(words::NONE);
        return Ok(ExitCode::from(NONE));
    };
    let status = match kept.ask(&Request::Status).map_err(failure)? {
        Answer::Status(status) => status,
        Answer::Refused(why) => return Err(Failure::error(why)),
        _ => return Err(no_answer()),
    };
    if args.json {
        print(json(&status)?)?;
    } else {
        print_for_people(words::status(&status), ascii)?;
    }
    let Some(doubt) = &status.doubt else {
        return Ok(ExitCode::SUCCESS);
    };
    tell(doubt);
    Ok(ExitCode::from(DOUBT))
}

fn json(status: &Status) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(status).map_err(Failure::error)?;
    Ok(text + "\n")
}
