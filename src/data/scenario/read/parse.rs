//! Reads a scenario as users want it: each mistake names what to change.

use super::super::error::ScenarioErrors;
use super::super::overrides::Overrides;
use super::super::source::Source;
use super::super::whole::Scenario;
use super::blame;
use super::whole::read;

/// Reads a scenario with the changes of the command line.
///
/// # Errors
/// All mistakes in the scenario, in the order of the file: broken TOML (then only that), unknown keys and names,
/// impossible values, contradictions.
pub fn parse(source: &Source, overrides: &Overrides) -> Result<Scenario, ScenarioErrors> {
    read(source, overrides).map_err(|errors| blame::flags(source, overrides, errors))
}
