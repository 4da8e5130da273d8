use std::process::ExitCode;

use lockstorm_lab::kept::{Acted, Answer, Choice, Effect, Kept, Request, find};

use super::refused::{failure, no_answer};
use super::text;
use crate::cli::Look;
use crate::commands::print::print_for_people;
use crate::deeds::DeedArgs;
use crate::exit_code;
use crate::failure::{Failure, tell};

/// Breaks or mends hosts or links of the kept lab.
pub fn act(args: &DeedArgs, look: Look) -> Result<ExitCode, Failure> {
    let on = Choice::read(&args.on).map_err(Failure::usage)?;
    let acted = ask(&kept()?, &Request::Act { deed: args.deed, on })?;
    let (good, bad): (Vec<Acted>, Vec<Acted>) = acted.into_iter().partition(Acted::is_well);
    let text: String = good.iter().map(|acted| format!("{}\n", acted.words)).collect();
    print_for_people(text, look)?;
    for acted in &bad {
        tell(&acted.words);
    }
    Ok(exit(bad.iter().map(|acted| acted.effect)))
}

/// The kept lab.
pub(super) fn kept() -> Result<Kept, Failure> {
    find().map_err(failure)?.ok_or_else(|| Failure::error(text::NONE))
}

/// Asks for an action, and waits for what becomes of it.
pub(super) fn ask(kept: &Kept, request: &Request) -> Result<Vec<Acted>, Failure> {
    match kept.ask(request).map_err(failure)? {
        Answer::Acted(acted) => Ok(acted),
        Answer::Refused(why) => Err(Failure::usage(why)),
        _ => Err(no_answer()),
    }
}

/// The exit code of what came of these effects that are not as they were meant to be.
pub(super) fn exit(effects: impl Iterator<Item = Effect>) -> ExitCode {
    match effects.max_by_key(|effect| *effect == Effect::Failed) {
        None => ExitCode::SUCCESS,
        Some(Effect::Late) => ExitCode::from(exit_code::INCONCLUSIVE),
        Some(_) => ExitCode::FAILURE,
    }
}
