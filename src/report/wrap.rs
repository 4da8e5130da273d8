//! Long lines.

use textwrap::core::display_width;
use textwrap::{Options, WordSplitter, fill};

/// Columns of a line.
pub(super) const WIDTH: usize = 100;

/// The text in lines, the first behind `head`, the others as far to the right. Colour takes no columns.
pub(super) fn hanging(head: &str, text: &str) -> String {
    fold(head, text, WIDTH) + "\n"
}

/// The same for lines of so many columns, without the last line break.
pub(super) fn fold(head: &str, text: &str, columns: usize) -> String {
    let indent = " ".repeat(display_width(head));
    let options = Options::new(columns).initial_indent(head).subsequent_indent(&indent);
    fill(
        text,
        options.break_words(false).word_splitter(WordSplitter::NoHyphenation),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_hang_and_nothing_is_lost() {
        let text = "word ".repeat(60);
        let lines = hanging("  1. ", text.trim());
        assert!(lines.lines().count() > 2 && lines.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(lines.lines().skip(1).all(|line| line.starts_with("     word")));
        assert_eq!(lines.matches("word").count(), 60);
    }
}
