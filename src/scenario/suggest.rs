//! The nearest right spelling.

/// `; did you mean "redlock"?`, or what there is when nothing is near, or nothing at all when there is nothing.
pub(super) fn hint<'a>(wrong: &str, right: impl IntoIterator<Item = &'a str>) -> String {
    let right: Vec<&str> = right.into_iter().collect();
    match nearest(wrong, right.iter().copied()) {
        Some(word) => format!("; did you mean \"{word}\"?"),
        None if right.is_empty() => String::new(),
        None => format!("; there is {}", list(&right)),
    }
}

/// The word that `wrong` was probably meant to be.
pub(super) fn nearest<'a>(wrong: &str, right: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace(['_', ' '], "-");
    let wrong = plain(wrong);
    let far = wrong.chars().count().div_ceil(3).max(1);
    right
        .into_iter()
        .map(|word| (strsim::osa_distance(&wrong, &plain(word)), word))
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// `a, b or c`.
pub(super) fn list(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
