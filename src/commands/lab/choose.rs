//! Runs the sub-command that was asked for.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;

use super::{act, down, log, play, status, up};
use crate::cli::{CliArgs, LabArgs, LabCommand, Look};
use crate::commands::server::wait_for;
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

/// Runs redis-cli, which sets the exit code; one that is ended by a signal has 128 plus its number, as in a shell.
fn cli(args: &CliArgs) -> Result<ExitCode, Failure> {
    let lab = Running::find(args.lab.as_deref()).map_err(Failure::error)?;
    let cli = lab.cli(args.node).map_err(Failure::error)?;
    let ended = wait_for(cli.run(&args.args))?.map_err(Failure::error)?;
    let code = ended.code().or_else(|| Some(128 + ended.signal()?));
    Ok(code
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
