//! `lockstorm scenarios` and `lockstorm check`.

use std::process::ExitCode;

use lockstorm_data::scenario::{ArmSpec, Fence, Source, builtin, warnings};

use super::load::{load, room};
use super::print::print;
use crate::cli::{CheckArgs, ScenariosArgs, ScenariosCommand};
use crate::failure::{Failure, tell};

/// Lists the built-in scenarios, or prints one.
pub fn scenarios(args: &ScenariosArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        None => print(list())?,
        Some(ScenariosCommand::Show { name }) => print(show(name)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    let width = builtin::ALL
        .iter()
        .map(|scenario| scenario.name.len())
        .max()
        .unwrap_or(0);
    builtin::ALL
        .iter()
        .map(|scenario| format!("{:width$}  {}\n", scenario.name, scenario.title()))
        .collect()
}

fn show(name: &str) -> Result<&'static str, Failure> {
    if let Some(scenario) = builtin::find(name) {
        return Ok(scenario.text);
    }
    // `open` explains what is wrong with the name and suggests a better one.
    match Source::open(name) {
        Err(error) => Err(Failure::usage(error)),
        Ok(_) => Err(Failure::usage(format!(
            "{name} is a file, not a built-in scenario; `cat` shows it"
        ))),
    }
}

/// Validates a scenario: prints its errors, or its warnings and a line that sums it up.
pub fn check(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let scenario = load(&args.scenario, &args.changes).map_err(Failure::usage)?;
    // A scenario is valid or not wherever it is checked, so what this machine has no room for is only a warning.
    let here = room(&scenario).unwrap_or_else(|refusals| refusals.lines().map(str::to_owned).collect());
    for warning in warnings(&scenario).iter().chain(&here) {
        tell(&format!("warning: {warning}"));
    }
    let arms: Vec<_> = scenario.arms.iter().map(arm).collect();
    print(format!(
        "✔ {}: {} · {} · arms: {} · faults: {} · expectations: {}\n",
        scenario.name,
        scenario.title,
        humantime::format_duration(scenario.duration),
        arms.join(", "),
        scenario.faults.len(),
        scenario.expect.len(),
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// An arm's name, with its label if it has a fence.
fn arm(arm: &ArmSpec) -> String {
    match arm.fence {
        Fence::Off => arm.name.clone(),
        Fence::Write | Fence::ReadWrite => format!("{} ({})", arm.name, arm.label()),
    }
}
