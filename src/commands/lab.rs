//! `lockstorm lab`.

use std::process::ExitCode;

use lockstorm::lab::leftovers;

use super::print;
use crate::cli::{LabArgs, LabCommand};
use crate::failure::Failure;

/// Does what the sub-command says.
pub fn lab(args: &LabArgs) -> Result<ExitCode, Failure> {
    match args.command {
        LabCommand::Down => {
            let report = leftovers::remove()
                .map_err(|error| Failure::error(format!("cannot remove what was left behind: {error}")))?;
            print(format!("{report}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
