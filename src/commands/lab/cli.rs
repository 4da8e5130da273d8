use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use lockstorm_lab::Running;

use crate::cli::CliArgs;
use crate::failure::Failure;

/// Replaces this process by redis-cli, which then handles signals and sets the exit code.
pub fn cli(args: &CliArgs) -> Result<ExitCode, Failure> {
    let lab = Running::find(args.lab.as_deref()).map_err(Failure::error)?;
    let mut command = lab.cli(args.node).map_err(Failure::error)?;
    let error = command.args(&args.args).exec();
    let program = command.get_program().to_string_lossy().into_owned();
    Err(Failure::error(format!("cannot run {program}: {error}")))
}
