//! The lockstorm program: parse, dispatch, map the outcome to an exit code.

mod cli;
mod commands;
mod failure;

use std::env;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Parser;
use cli::{Cli, Command};
use failure::Failure;
use lockstorm::lab::keeper;

fn main() -> ExitCode {
    // Not a command for people: lockstorm starts itself this way.
    if env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == keeper::ARGUMENT)
    {
        return keeper::main();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return commands::usage::explain(&error),
    };
    if let Some(path) = &cli.log
        && let Err(failure) = log_to(path)
    {
        return failure.report();
    }
    dispatch(cli).unwrap_or_else(|failure| failure.report())
}

/// Sends what the library traces to a file; the terminal belongs to the console.
fn log_to(path: &Path) -> Result<(), Failure> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|error| Failure::usage(format!("--log {}: cannot be written: {error}", path.display())))?;
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(Mutex::new(file))
        .init();
    Ok(())
}

fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    if cli.command.is_some() {
        commands::usage::no_console_arguments(&cli.console)?;
    }
    match cli.command {
        None => commands::console::open(cli.console, cli.color, cli.ascii),
        Some(Command::Run(args)) => commands::run::run(&args, cli.color, cli.ascii),
        Some(Command::Scenarios(args)) => commands::scenarios::scenarios(&args),
        Some(Command::Check(args)) => commands::scenarios::check(&args),
        Some(Command::Bench(args)) => commands::bench::bench(&args, cli.color, cli.ascii),
        Some(Command::Lab(args)) => commands::lab::lab(&args),
        Some(Command::Completions(args)) => commands::docs::completions(&args),
        Some(Command::Man(args)) => commands::docs::man(&args),
    }
}
