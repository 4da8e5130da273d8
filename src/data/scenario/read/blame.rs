//! Decides whose mistake it is: a value that contradicts a flag may be in the file, although the file alone is right.

use std::collections::HashSet;

use super::super::error::{ScenarioError, ScenarioErrors};
use super::super::overrides::Overrides;
use super::super::source::Source;
use super::whole::read;

/// Makes errors that the file alone doesn't have name the flag that causes them instead of a line of the file.
pub(super) fn flags(source: &Source, overrides: &Overrides, errors: ScenarioErrors) -> ScenarioErrors {
    if *overrides == Overrides::default() {
        return errors;
    }
    let each = overrides.each();
    let of = |overrides: &Overrides| {
        read(source, overrides)
            .err()
            .map_or_else(HashSet::new, |errors| errors.0.into_iter().collect())
    };
    let own: HashSet<ScenarioError> = of(&Overrides::default());
    let alone: Vec<(&str, HashSet<ScenarioError>)> =
        each.iter().map(|(flag, only)| (flag.as_str(), of(only))).collect();
    let blamed = |error: ScenarioError| {
        let Some(key) = key_in_file(source, &error.place).filter(|_| !own.contains(&error)) else {
            return error;
        };
        // No flag causes this alone, so they cause it together.
        let guilty: Vec<&str> = alone
            .iter()
            .filter(|(_, made)| made.contains(&error))
            .map(|(flag, _)| *flag)
            .collect();
        let guilty = match guilty.first() {
            Some(flag) => (*flag).to_owned(),
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
