//! Reads a scenario and asks whether it fits this machine.

use std::env;

use lockstorm_data::scenario::{LockKind, Overrides, Scenario, ScenarioErrors, Source, parse};
use lockstorm_lab::is_command;
use lockstorm_run::needs::{self, Lack, Machine};

use crate::cli::Changes;

/// The URL of the database of all scenarios, as `--set database.url=URL` would give it.
const DATABASE: &str = "LOCKSTORM_DATABASE";

/// Reads and validates a scenario, the changes of the command line included.
pub(super) fn load(spec: &str, changes: &Changes) -> Result<Scenario, ScenarioErrors> {
    parse(&Source::open(spec)?, &overrides(changes))
}

/// The same for someone who wants its faults alone.
pub(super) fn load_faults(spec: &str, changes: &Changes) -> Result<Scenario, ScenarioErrors> {
    parse(&Source::open(spec)?.for_its_faults(), &overrides(changes))
}

/// Compares the scenario's needs with this machine: warnings, or a line for each reason why it can't run here.
pub(super) fn room(scenario: &Scenario) -> Result<Vec<String>, String> {
    let room = needs::compare(&needs::of(scenario), &Machine::look());
    let [mut refusals, warnings] =
        [room.refusals, room.warnings].map(|lacks| lacks.iter().map(Lack::to_string).collect::<Vec<_>>());
    for arm in scenario.arms.iter().filter(|arm| arm.lock == LockKind::Client) {
        if let Some(program) = arm.command.first().filter(|program| !is_command(program)) {
            refusals.push(format!(
                "arm \"{}\": {program} is not a program: name one on PATH, or the path of an executable file",
                arm.name
            ));
        }
    }
    if refusals.is_empty() {
        Ok(warnings)
    } else {
        Err(refusals.join("\n"))
    }
}

pub(super) fn overrides(changes: &Changes) -> Overrides {
    let set = |key: &str| changes.set.iter().any(|set| set.starts_with(key));
    // What the command line says is more than what the environment says.
    let database = env::var(DATABASE)
        .ok()
        .filter(|url| !url.is_empty() && !set("database.url="));
    let database = database.map(|url| format!("database.url={url}"));
    Overrides {
        set: database.into_iter().chain(changes.set.iter().cloned()).collect(),
        seed: changes.seed,
        duration: changes.duration,
        client: changes.client.clone().unwrap_or_default().0,
    }
}
