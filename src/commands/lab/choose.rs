//! Runs the sub-command that was asked for.

use std::process::ExitCode;

use super::{act, cli, down, status, up};
use crate::cli::{LabArgs, LabCommand};
use crate::failure::Failure;
use lockstorm_lab::kept::Verb;

/// Runs the sub-command.
pub fn lab(args: &LabArgs, ascii: bool) -> Result<ExitCode, Failure> {
    match &args.command {
        LabCommand::Up(args) => up::up(args, ascii),
        LabCommand::Status(args) => status::status(args, ascii),
        LabCommand::Kill(args) => act::act(Verb::Kill, args, ascii),
        LabCommand::Pause(args) => act::act(Verb::Pause, args, ascii),
        LabCommand::Restore(args) => act::act(Verb::Restore, args, ascii),
        LabCommand::Down(args) => down::down(args, ascii),
        LabCommand::Cli(args) => cli::cli(args),
    }
}
