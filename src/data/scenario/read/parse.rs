//! Reads a scenario as users want it: each mistake names what to change. A value that contradicts a flag may be in the file,
//! although the file alone is right.

use std::collections::HashSet;
use std::slice;

use super::super::error::{ScenarioError, ScenarioErrors};
use super::super::overrides::{Change, Overrides};
use super::super::source::Source;
use super::super::whole::Scenario;
use super::whole::read;

/// Reads a scenario with the changes of the command line.
///
/// # Errors
/// All mistakes in the scenario, in the order of the file: broken TOML (then only that), unknown keys and names,
/// impossible values, contradictions.
pub fn parse(source: &Source, overrides: &Overrides) -> Result<Scenario, ScenarioErrors> {
    let changes = overrides.changes();
    read(source, &changes).map_err(|errors| blame_flags(source, &changes, errors))
}

/// Makes errors that the file alone doesn't have name the flag that causes them instead of a line of the file.
fn blame_flags(source: &Source, changes: &[Change], errors: ScenarioErrors) -> ScenarioErrors {
    if changes.is_empty() {
        return errors;
    }
    let of = |changes: &[Change]| -> HashSet<ScenarioError> {
        let errors = read(source, changes).err().map(|errors| errors.0);
        errors.into_iter().flatten().collect()
    };
    let own = of(&[]);
    let alone: Vec<(&str, HashSet<ScenarioError>)> = changes
        .iter()
        .map(|change| (change.flag.as_str(), of(slice::from_ref(change))))
        .collect();
    let blamed = |error: ScenarioError| {
        let Some(key) = key_in_file(source, &error.place).filter(|_| !own.contains(&error)) else {
            return error;
        };
        let guilty = match alone.iter().find(|(_, made)| made.contains(&error)) {
            Some((flag, _)) => (*flag).to_owned(),
            // No flag causes this alone, so they cause it together.
            None => alone.iter().map(|(flag, _)| *flag).collect::<Vec<_>>().join(" "),
        };
        ScenarioError::new(format!("{guilty}: {key}"), error.message)
    };
    ScenarioErrors(errors.0.into_iter().map(blamed).collect())
}

/// The key of a place in the file, with or without its line; `None` for a flag.
fn key_in_file<'a>(source: &Source, place: &'a str) -> Option<&'a str> {
    let name = ScenarioError::new(source.name.as_str(), "").place;
    let rest = place.strip_prefix(&name)?.strip_prefix(':')?;
    Some(
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':')
            .trim_start(),
    )
}
