use std::path::PathBuf;
use std::process::ExitCode;

use lockstorm_lab::kept::{Answer, Request, find, wait_for_start};
use lockstorm_lab::leftovers;

use super::refused::{failure, no_answer};
use crate::cli::{DownArgs, Look};
use crate::commands::print::print_for_people;
use crate::failure::{Failure, tell};

/// Takes the kept lab down, also one that is just being started, then removes what crashed labs left behind.
pub fn down(args: &DownArgs, look: Look) -> Result<ExitCode, Failure> {
    let mut kept = take_down_kept()?;
    let mut report = leftovers::remove_all(args.force)
        .map_err(|error| Failure::error(format!("cannot remove what a crash left behind: {error}")))?;
    if kept.is_none() {
        // A start that began while this looked.
        kept = take_down_kept()?;
        report.running.retain(|lab| Some(lab) != kept.as_ref());
    }
    let text = kept.map_or_else(String::new, |lab| {
        format!(
            "the kept lab is down: its processes are gone, and {} too\n",
            lab.display()
        )
    });
    let printed = print_for_people(format!("{text}{report}\n"), look)?;
    let Some(doubt) = report.doubt() else {
        return Ok(printed);
    };
    tell(&doubt);
    Ok(ExitCode::FAILURE)
}

/// Takes the kept lab down, if there is one, and returns its directory.
fn take_down_kept() -> Result<Option<PathBuf>, Failure> {
    wait_for_start(|| tell("a lab is just being started: waiting until it is up")).map_err(failure)?;
    let kept = find().map_err(failure)?;
    let Some(kept) = kept else { return Ok(None) };
    match kept.ask(&Request::Down).map_err(failure)? {
        Answer::Down => {}
        Answer::Refused(why) => return Err(Failure::error(why)),
        _ => return Err(no_answer()),
    }
    if kept.dir().exists() {
        return Err(Failure::error(format!(
            "the kept lab is down, but its directory is still there: remove {}",
            kept.dir().display()
        )));
    }
    Ok(Some(kept.dir().to_owned()))
}
