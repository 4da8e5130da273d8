use std::process::ExitCode;

use super::refused::status_of_kept;
use super::text;
use crate::cli::{Look, StatusArgs};
use crate::commands::print::{print, print_result};
use crate::exit_code;
use crate::failure::{Failure, tell};

/// Shows the kept lab.
pub fn status(args: &StatusArgs, look: Look) -> Result<ExitCode, Failure> {
    let Some(status) = status_of_kept()? else {
        if args.json {
            print("null\n")?;
        }
        tell(text::NONE);
        return Ok(ExitCode::from(exit_code::NO));
    };
    let printed = print_result(args.json, &status, |_| text::status(&status), look)?;
    let Some(doubt) = &status.doubt else {
        return Ok(printed);
    };
    tell(doubt);
    Ok(ExitCode::from(exit_code::INCONCLUSIVE))
}
