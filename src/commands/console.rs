//! `lockstorm [SCENARIO]`: the console, or a headless run where there is no terminal.

use std::process::ExitCode;

use super::{load, run, usage};
use crate::cli::{Color, ConsoleArgs, RunArgs};
use crate::failure::Failure;

/// What a headless run takes when no scenario is named.
const DEFAULT: &str = "single-vs-redlock";

/// Opens the console. What can be wrong with the request is said before the terminal changes.
pub fn open(args: ConsoleArgs, color: Color) -> Result<ExitCode, Failure> {
    if let Some(spec) = &args.scenario {
        load(spec, &args.changes).map_err(|errors| usage::no_scenario(spec, &errors))?;
    }
    run::run(&headless(args), color)
}

fn headless(args: ConsoleArgs) -> RunArgs {
    RunArgs {
        scenario: args.scenario.unwrap_or_else(|| DEFAULT.to_owned()),
        changes: args.changes,
        server: args.server,
        record: None,
        json: false,
        quiet: false,
    }
}
