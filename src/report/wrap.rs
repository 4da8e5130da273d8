//! Long lines.

/// Columns of a line.
const WIDTH: usize = 100;

/// The text in lines, the first behind `head`, the others as far to the right.
pub(super) fn hanging(head: &str, text: &str) -> String {
    let indent = visible(head);
    let (mut lines, mut column) = (head.to_owned(), indent);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > WIDTH {
            lines += &format!("\n{}", " ".repeat(indent));
            column = indent;
        }
        if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += length;
    }
    lines + "\n"
}

/// How many columns the text takes; colour takes none.
fn visible(text: &str) -> usize {
    let mut columns = 0;
    let mut in_escape = false;
    for c in text.chars() {
        match (in_escape, c) {
            (false, '\u{1b}') => in_escape = true,
            (false, _) => columns += 1,
            (true, 'm') => in_escape = false,
            (true, _) => {}
        }
    }
    columns
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
