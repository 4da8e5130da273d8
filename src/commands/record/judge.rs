//! `lockstorm record judge`: the locks of a history, judged anew.

use std::path::Path;
use std::process::ExitCode;

use lockstorm::report::render_judgements;
use lockstorm_run::oracle::past::{self, Judgement};

use super::super::colour;
use super::super::print::print_for_people;
use super::history::{open, unreadable};
use crate::cli::Look;
use crate::exit_code;
use crate::failure::{Failure, tell};

/// Judges it, and prints what was found by arm. A double hold is a no; where none could show, that is said.
pub fn judge(path: &Path, look: Look) -> Result<ExitCode, Failure> {
    let found = past::judge(open(path)?).map_err(|error| unreadable(path, error))?;
    print_for_people(render_judgements(&found, colour::paint(look)), look)?;
    if found.values().any(|arm| arm.double_holds > 0) {
        return Ok(ExitCode::from(exit_code::NO));
    }
    Ok(match Judgement::doubt(&found) {
        None => ExitCode::SUCCESS,
        Some(doubt) => {
            tell(&format!("nothing was shown: {doubt}"));
            ExitCode::from(exit_code::INCONCLUSIVE)
        }
    })
}
