//! Text of others on a terminal: names, titles and messages may hold characters that it would obey, or not show.

/// The text with nothing in it that a terminal would obey or hide: breaks of lines become spaces; controls, and characters
/// that turn the direction of writing or have no width, become `�`.
#[must_use]
pub fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        c if c.is_control() || is_unseen(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Characters of format and those without a width, as Unicode 17 lists them (`Cf`, and what is ignorable by default). Marks
/// that belong to the letter before them are none of these.
const fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_or_hide_is_shown() {
        for c in [
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{202e}',
            '\u{2066}',
            '\u{200b}',
            '\u{200f}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            assert_eq!(printable(&format!("a{c}b")), "a\u{fffd}b", "{c:?}");
        }
        for c in ['\n', '\r', '\t', '\u{2028}', '\u{2029}', '\u{85}'] {
            assert_eq!(printable(&format!("a{c}b")), "a b", "{c:?}");
        }
    }

    #[test]
    fn what_people_write_stays() {
        let text = "Zürich 漢字 שלום e\u{301} 12 €, “q” – ✔ 🔒";
        assert_eq!(printable(text), text);
    }
}
