//! Runs the sub-command that was asked for.

use std::process::ExitCode;

use super::{act, cli, down, status, up};
use crate::cli::{LabArgs, LabCommand, Look};
use crate::failure::Failure;
use lockstorm_lab::kept::Verb;

/// Runs the sub-command.
pub fn lab(args: &LabArgs, look: Look) -> Result<ExitCode, Failure> {
    match &args.command {
        LabCommand::Up(args) => up::up(args, look),
        LabCommand::Status(args) => status::status(args, look),
        LabCommand::Kill(args) => act::act(Verb::Kill, args, look),
        LabCommand::Pause(args) => act::act(Verb::Pause, args, look),
        LabCommand::Restore(args) => act::act(Verb::Restore, args, look),
        LabCommand::Down(args) => down::down(args, look),
        LabCommand::Cli(args) => cli::cli(args),
    }
}
