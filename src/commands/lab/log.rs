use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lockstorm_base::output::stdout;
use lockstorm_lab::kept::{Answer, Kept, Logged, Request};

use super::act::kept;
use super::refused::{failure, no_answer};
use crate::cli::{LabLogArgs, Look};
use crate::commands::print::{print, print_for_people};
use crate::failure::Failure;

/// How often it is looked whether something was done.
const LOOK: Duration = Duration::from_millis(200);
/// How long a lab that does not answer any more may take to end.
const END: Duration = Duration::from_secs(10);

/// Prints what was done to the kept lab, and if it is to follow, what is done until the lab is down.
pub fn log(args: &LabLogArgs, look: Look) -> Result<ExitCode, Failure> {
    let (kept, mut after) = (kept()?, 0);
    loop {
        let entries = match kept.ask(&Request::Log { after }) {
            Ok(Answer::Log(entries)) => entries,
            Ok(Answer::Refused(why)) => return Err(Failure::error(why)),
            Ok(_) => return Err(no_answer()),
            // It was there before, and is down now.
            Err(_) if args.follow && is_gone(&kept) => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(failure(error)),
        };
        for entry in &entries {
            show(entry, args.json, look)?;
            after = entry.number;
        }
        // Nobody reads it any more.
        let is_over = stdout().end().is_some();
        if is_over || entries.is_empty() && !args.follow {
            return Ok(ExitCode::SUCCESS);
        }
        if entries.is_empty() {
            sleep(LOOK);
        }
    }
}

/// Whether the lab is down; one that does not answer any more may be about to be.
fn is_gone(kept: &Kept) -> bool {
    let end = Instant::now() + END;
    while kept.dir().exists() && Instant::now() < end {
        sleep(LOOK);
    }
    !kept.dir().exists()
}

fn show(entry: &Logged, as_json: bool, look: Look) -> Result<ExitCode, Failure> {
    if as_json {
        return print(serde_json::to_string(entry).map_err(Failure::error)? + "\n");
    }
    let effect = entry.effect_us.map_or_else(|| "–".to_owned(), |at| at.to_string());
    print_for_people(format!("{}  {effect:>15}  {}\n", entry.time, entry.words), look)
}
