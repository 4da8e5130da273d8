//! Runs the sub-command that was asked for.

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use super::{act, down, log, play, status, up};
use crate::cli::{CliArgs, LabArgs, LabCommand, Look};
use crate::failure::Failure;
use lockstorm_lab::Running;

/// Runs the sub-command.
pub fn lab(args: &LabArgs, look: Look) -> Result<ExitCode, Failure> {
    match &args.command {
        LabCommand::Up(args) => up::up(args, look),
        LabCommand::Status(args) => status::status(args, look),
        LabCommand::Act(args) => act::act(args, look),
        LabCommand::Play(args) => play::play(args, look),
        LabCommand::Log(args) => log::log(args, look),
        LabCommand::Down(args) => down::down(args, look),
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
