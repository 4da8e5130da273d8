//! The lockstorm program: parse and dispatch.

mod cli;
mod commands;
mod deeds;
mod exit_code;
mod failure;
mod glossary;
mod log;

use std::env;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use cli::{Cli, Command};
use failure::Failure;
use lockstorm::console::ascii;
use lockstorm_base::output::stderr;
use lockstorm_lab::keeper;
use lockstorm_lab::kept::background;
use log::Log;
use signal_hook::consts::SIGXFSZ;
use tikv_jemallocator::Jemalloc;

/// glibc's allocator keeps the memory of a burst, in sixteen arenas on two processors: for half an hour memory grew in
/// steps, although its usage hardly did. This one returns unused pages after ten seconds.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    // Not commands for users: lockstorm starts itself in these ways.
    let first = env::args_os().nth(1);
    if first.as_ref().is_some_and(|argument| argument == keeper::ARGUMENT) {
        return keeper::main();
    }
    if first.is_some_and(|argument| argument == background::ARGUMENT) {
        return background::main();
    }
    // A file that reaches its size limit (ulimit -f) then gives an error, like a full disk, and doesn't end the process.
    // The handler does nothing; programs that we start don't inherit it.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let code = play();
    // Lets readers of our outputs get the rest.
    let _ = stderr().settle();
    code
}

fn play() -> ExitCode {
    if commands::usage::is_ascii(&io::stderr()) {
        // Nothing but text for people goes there.
        stderr().filter(ascii::text);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return commands::usage::explain(&error),
    };
    let log = match cli.log.as_deref().map(Log::open).transpose() {
        Ok(log) => log,
        Err(failure) => return failure.report(),
    };
    let code = dispatch(cli).unwrap_or_else(|failure| failure.report());
    if let Some(log) = log {
        log.end();
    }
    code
}

fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    if cli.command.is_some() {
        commands::usage::no_console_arguments(&cli.console)?;
    }
    match cli.command {
        None => commands::console::open(cli.console, cli.look),
        Some(Command::Run(args)) => commands::run::run(args, cli.look),
        Some(Command::Scenarios(args)) => commands::scenarios::scenarios(&args, cli.look),
        Some(Command::Check(args)) => commands::scenarios::check(&args, cli.look),
        Some(Command::Explain(args)) => commands::explain::explain(&args, cli.look),
        Some(Command::Plan(args)) => commands::plan::plan(&args, cli.look),
        Some(Command::Doctor(args)) => commands::doctor::doctor(&args, cli.look),
        Some(Command::Recipes(args)) => commands::recipes::recipes(&args, cli.look),
        Some(Command::Report(args)) => commands::report::report(&args, cli.look),
        Some(Command::Compare(args)) => commands::compare::compare(&args, cli.look),
        Some(Command::View(args)) => commands::view::view(&args, cli.look),
        Some(Command::Record(args)) => commands::record::record(&args, cli.look),
        Some(Command::Judge(args)) => commands::events::judge(&args, cli.look),
        Some(Command::Sweep(args)) => commands::sweep::sweep(&args, cli.look),
        Some(Command::Selftest(args)) => commands::selftest::selftest(&args, cli.look),
        Some(Command::Grade(args)) => commands::grade::grade(&args, cli.look),
        Some(Command::Client(args)) => commands::grade::client(&args, cli.look),
        Some(Command::Bench(args)) => commands::bench::bench(&args, cli.look),
        Some(Command::Lab(args)) => commands::lab::lab(&args, cli.look),
        Some(Command::Completions(args)) => commands::docs::completions(&args),
        Some(Command::Man(args)) => commands::docs::man(&args),
    }
}
