//! `lockstorm record judge`: the locks of a history, judged anew.

use std::path::Path;
use std::process::ExitCode;

use lockstorm::report::render_judgements;
use lockstorm_data::metrics::units::counted;
use lockstorm_run::oracle::past::{self, ArmHolds};

use super::super::colour;
use super::super::print::print_for_people;
use super::history::{open, unreadable};
use crate::cli::Look;
use crate::exit_code;
use crate::failure::{Failure, tell};

/// Judges it, and prints what was found by arm. A double hold or use is a no, and so is what else a program has reported that is broken;
/// where none could show, that is said.
pub fn judge(path: &Path, look: Look) -> Result<ExitCode, Failure> {
    let reader = open(path)?;
    let head = reader.head.clone();
    let found = past::judge(reader).map_err(|error| unreadable(path, error))?;
    print_for_people(render_judgements(&found, colour::paint(look)), look)?;
    if head.damage > 0 {
        tell(&format!(
            "of what the program reported besides, {} damage: late writes, sections that overran, shared tokens or fences that fell",
            counted(head.damage, "event is", "events are")
        ));
    }
    if head.damage > 0 || found.values().any(|arm| arm.is_broken(&head)) {
        return Ok(ExitCode::from(exit_code::NO));
    }
    Ok(match ArmHolds::doubt(&head, &found) {
        None => ExitCode::SUCCESS,
        Some(doubt) => {
            tell(&format!("nothing was shown: {doubt}"));
            ExitCode::from(exit_code::INCONCLUSIVE)
        }
    })
}
