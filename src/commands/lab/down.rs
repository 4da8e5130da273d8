use std::process::ExitCode;

use lockstorm::kept::{Answer, Request, find};
use lockstorm::lab::leftovers;

use super::{failure, no_answer};
use crate::commands::print_for_people;
use crate::failure::Failure;

/// Takes the kept lab down, then removes what crashed labs left behind.
pub fn down(ascii: bool) -> Result<ExitCode, Failure> {
    let kept = find().map_err(failure)?;
    let mut text = String::new();
    if let Some(kept) = kept {
        match kept.ask(&Request::Down).map_err(failure)? {
            Answer::Down => {}
            Answer::Refused(why) => return Err(Failure::error(why)),
            _ => return Err(no_answer()),
        }
        let lab = kept.dir().display();
        if kept.dir().exists() {
            return Err(Failure::error(format!(
                "the kept lab is down, but its directory is still there: remove {lab}"
            )));
        }
        text = format!("the kept lab is down: its processes are gone, and {lab} too\n");
    }
    let report = leftovers::remove_all()
        .map_err(|error| Failure::error(format!("cannot remove what a crash left behind: {error}")))?;
    print_for_people(format!("{text}{report}\n"), ascii)?;
    Ok(ExitCode::SUCCESS)
}
