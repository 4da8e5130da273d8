//! Makes foreign text safe for a terminal: names, titles and messages may contain control characters, or characters
//! without a visible form.

/// The text without anything that a terminal would obey or hide: line breaks become spaces; control characters, and
/// characters that change the writing direction or have no width, become `�`.
pub fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        c if c.is_control() || is_unseen(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Format characters and characters without a width, as in Unicode 17 (`Cf`, and the default ignorables). Combining marks
/// are not among them.
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
    fn control_and_invisible_characters_are_replaced() {
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
    fn ordinary_text_stays() {
        let text = "Zürich 漢字 שלום e\u{301} 12 €, “q” – ✔ 🔒";
        assert_eq!(printable(text), text);
    }
}
