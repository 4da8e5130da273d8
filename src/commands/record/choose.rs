//! Runs the sub-command that was asked for.

use std::process::ExitCode;

use super::{history, judge, schema, show};
use crate::cli::{Look, RecordArgs, RecordCommand};
use crate::failure::Failure;

/// Runs the sub-command.
pub fn record(args: &RecordArgs, look: Look) -> Result<ExitCode, Failure> {
    match &args.command {
        RecordCommand::Show(args) => show::show(args, look),
        RecordCommand::Schema => schema::schema(),
        RecordCommand::Judge { history } => judge::judge(history, look),
        RecordCommand::History { history, to, out } => history::convert(history, *to, out),
    }
}
