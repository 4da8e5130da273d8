use std::process::ExitCode;

use lockstorm_lab::kept::{Acted, Answer, Choice, Effect, Request, Verb, find};

use super::refused::{failure, no_answer};
use super::text;
use crate::cli::{HostsArgs, Look};
use crate::commands::print::print_for_people;
use crate::exit_code;
use crate::failure::{Failure, tell};

/// Breaks or mends hosts of the kept lab.
pub fn act(verb: Verb, args: &HostsArgs, look: Look) -> Result<ExitCode, Failure> {
    let hosts = Choice::read(&args.hosts).map_err(Failure::usage)?;
    let kept = find().map_err(failure)?.ok_or_else(|| Failure::error(text::NONE))?;
    let acted = match kept.ask(&Request::Act { verb, hosts }).map_err(failure)? {
        Answer::Acted(acted) => acted,
        Answer::Refused(why) => return Err(Failure::usage(why)),
        _ => return Err(no_answer()),
    };
    let (good, bad): (Vec<Acted>, Vec<Acted>) = acted
        .into_iter()
        .partition(|acted| matches!(acted.effect, Effect::Verified | Effect::Already));
    let text: String = good.iter().map(|acted| format!("{}\n", acted.words)).collect();
    print_for_people(text, look)?;
    for acted in &bad {
        tell(&acted.words);
    }
    let effects = bad.iter().map(|acted| acted.effect);
    Ok(match effects.max_by_key(|effect| *effect == Effect::Failed) {
        None => ExitCode::SUCCESS,
        Some(Effect::Late) => ExitCode::from(exit_code::INCONCLUSIVE),
        Some(_) => ExitCode::FAILURE,
    })
}
