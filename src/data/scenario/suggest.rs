//! Suggests the nearest right spelling.

use std::borrow::Borrow;

/// `; did you mean "redlock"?`; or the list of what there is, if nothing is near; or nothing, if that list is empty.
pub fn hint<'a>(wrong: &str, right: impl IntoIterator<Item = &'a str>) -> String {
    let right: Vec<&str> = right.into_iter().collect();
    let meant = meant(wrong, right.iter().copied());
    if !meant.is_empty() || right.is_empty() {
        return meant;
    }
    let right: Vec<String> = right.iter().map(|word| format!("\"{word}\"")).collect();
    format!("; known: {}", right.join(", "))
}

/// `; did you mean "redlock"?`, or nothing.
pub fn meant<'a>(wrong: &str, right: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, right).map_or(String::new(), |word| format!("; did you mean \"{word}\"?"))
}

/// The word that `wrong` was probably meant to be: it has one or two letters wrong, or the same beginning.
fn nearest<'a>(wrong: &str, right: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace(['_', ' '], "-");
    let wrong = plain(wrong);
    let slips = (wrong.chars().count() / 2).min(2);
    right
        .into_iter()
        .map(|word| (strsim::jaro_winkler(&wrong, &plain(word)), word))
        .filter(|(alike, word)| *alike >= 0.85 || strsim::osa_distance(&wrong, &plain(word)) <= slips)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, word)| word)
}

/// `a, b or c`.
pub(super) fn list<S: Borrow<str>>(words: &[S]) -> String {
    match words {
        [] => String::new(),
        [one] => one.borrow().to_owned(),
        [first @ .., last] => format!("{} or {}", first.join(", "), last.borrow()),
    }
}
