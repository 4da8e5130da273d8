//! What a file says of itself: the comment at its head.

use crate::model::printable;

/// The first comment of a file, a paragraph a line. Lines that are further in, like commands, stay lines of their own.
pub(super) fn about(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#')).fuse();
    // An editor's directive is no text.
    let mut lines = comment.filter(|line| !line.starts_with(':')).map(str::trim_end);
    let mut about = lines
        .next()
        .map_or_else(String::new, |first| first.trim_start().to_owned());
    let mut joins = !about.is_empty();
    for line in lines {
        let is_prose = !line.is_empty() && !line.starts_with("    ");
        about.push(if joins && is_prose { ' ' } else { '\n' });
        about.push_str(if is_prose {
            line.trim_start()
        } else {
            line.strip_prefix(' ').unwrap_or(line)
        });
        joins = is_prose;
    }
    let lines = about.lines().filter(|line| !line.is_empty()).map(printable);
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::about;

    #[test]
    fn paragraphs_are_lines_and_commands_stay_apart() {
        let text = "#:schema ./s.json\n# One\n# sentence.\n#\n# Two:\n#\n#     lockstorm run x\n#\n# Keys.\ntitle = \"x\"\n# No.\n";
        assert_eq!(about(text), "One sentence.\nTwo:\n    lockstorm run x\nKeys.");
        assert_eq!(about("title = \"x\"\n# Later.\n"), "");
        assert_eq!(about("#\u{1b}[31m red\n"), "\u{fffd}[31m red");
    }
}
