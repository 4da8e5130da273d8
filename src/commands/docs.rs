//! `lockstorm completions` and `lockstorm man`.

use std::process::ExitCode;

use clap::CommandFactory;

use super::print;
use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lockstorm", &mut script);
    print(script)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a manual page.
pub fn man(args: &ManArgs) -> Result<ExitCode, Failure> {
    let mut root = Cli::command();
    // Gives the commands their full names and the global options.
    root.build();
    let mut command = &root;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let known: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
            Failure::usage(format!(
                "{} has no command \"{name}\"; it has: {}",
                command.get_name(),
                known.join(", ")
            ))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(Failure::error)?;
    print(page)?;
    Ok(ExitCode::SUCCESS)
}
