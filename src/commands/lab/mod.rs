//! `lockstorm lab`.

mod act;
mod cli;
mod down;
mod status;
mod up;
mod words;

use std::process::ExitCode;

use lockstorm::kept::{KeptError, Verb};

use crate::cli::{LabArgs, LabCommand};
use crate::failure::Failure;

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

fn failure(error: KeptError) -> Failure {
    if error.is_usage() {
        Failure::usage(error)
    } else {
        Failure::error(error)
    }
}

/// An answer to another question than the one that was asked.
fn no_answer() -> Failure {
    failure(KeptError::Strange("it answers another question".to_owned()))
}
