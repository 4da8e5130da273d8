//! Which keys make sense where, and the errors for the others.

use super::suggest;
use super::words::Words;

/// Checks whether a key belongs to the variant `here`. A key that no variant claims belongs to all of them. The error
/// names the variants that it belongs to; `key` is the key that selects the variant.
pub(super) fn belongs<T: Words + PartialEq>(key: &str, here: T, takes: impl Fn(T) -> bool) -> Result<(), String> {
    let takers: Vec<String> = T::VARIANTS
        .iter()
        .filter(|variant| takes(**variant))
        .map(|variant| format!("\"{}\"", variant.word()))
        .collect();
    if takers.is_empty() || takes(here) {
        return Ok(());
    }
    Err(format!(
        "makes no sense with {key} = \"{}\"; it belongs to {key} = {}",
        here.word(),
        suggest::list(&takers)
    ))
}
