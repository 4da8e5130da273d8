//! `lockstorm lab`.

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use lockstorm::lab::{Running, leftovers};

use super::print;
use crate::cli::{CliArgs, LabArgs, LabCommand};
use crate::failure::Failure;

/// Runs the sub-command.
pub fn lab(args: &LabArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        LabCommand::Down => {
            let report = leftovers::remove_all()
                .map_err(|error| Failure::error(format!("cannot remove what a crash left behind: {error}")))?;
            print(format!("{report}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Cli(args) => cli(args),
    }
}

/// Replaces this process by redis-cli, which then handles signals and sets the exit code.
fn cli(args: &CliArgs) -> Result<ExitCode, Failure> {
    let lab = Running::find(args.lab.as_deref()).map_err(Failure::error)?;
    let mut command = lab.cli(args.node).map_err(Failure::error)?;
    let error = command.args(&args.args).exec();
    let program = command.get_program().to_string_lossy().into_owned();
    Err(Failure::error(format!("cannot run {program}: {error}")))
}
