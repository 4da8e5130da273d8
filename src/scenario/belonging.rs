//! Which keys make sense where, and what is said of those that do not.

use super::suggest;
use super::words::Words;

/// Whether something belongs to the `here` of the variants, or to all of them alike because none claims it. If not: to
/// which ones it belongs. `key` is where the variants are written.
pub(super) fn belongs<T: Words + PartialEq>(key: &str, here: T, takes: impl Fn(T) -> bool) -> Result<(), String> {
    let takers: Vec<String> = T::VARIANTS
        .iter()
        .filter(|variant| takes(**variant))
        .map(|variant| format!("\"{}\"", variant.word()))
        .collect();
    if takers.is_empty() || takes(here) {
        return Ok(());
    }
    let takers: Vec<&str> = takers.iter().map(String::as_str).collect();
    Err(format!(
        "makes no sense with {key} = \"{}\"; it belongs to {key} = {}",
        here.word(),
        suggest::list(&takers)
    ))
}
