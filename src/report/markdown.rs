//! What Markdown texts share: tables, what is folded away, names that stay text.

use super::table::{Cell, Contents, Table};

/// A table, with its numbers at the right. Only sentences are broken into lines.
pub(super) fn tabled(table: &Table) -> String {
    let contents = |column: usize| table.head[column].contents;
    let row = |row: &Vec<Cell>| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let text = plain(cell.text.trim());
            match contents(column) {
                Contents::Sentences => text,
                Contents::Figures | Contents::Words => text.replace(' ', "\u{a0}"),
            }
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let is_left = |column: usize| column == 0 || contents(column) != Contents::Figures;
    let align = (0..table.head.len()).map(|column| if is_left(column) { ":--" } else { "--:" });
    let align: Vec<&str> = align.collect();
    let head = table
        .head
        .iter()
        .map(|head| plain(head.title.trim()))
        .collect::<Vec<_>>()
        .join(" | ");
    let mut lines = vec![format!("| {head} |"), format!("|{}|", align.join("|"))];
    lines.extend(table.rows.iter().map(row));
    lines.join("\n")
}

/// What opens by a click. A line without text ends the HTML, so that Markdown goes on.
pub(super) fn folded(title: &str, text: &str) -> String {
    format!("<details><summary>{}</summary>\n\n{text}\n\n</details>", plain(title))
}

pub(super) fn small(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| format!("<sub>{}</sub>", plain(text)))
}

/// The text without anything that Markdown, or GitHub, takes for more: a record may come from anybody.
pub(super) fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '&' | '<' | '>' | '|' | '@' => format!("&#{};", u32::from(c)),
        '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '!' => format!("\\{c}"),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::table::Head;

    #[test]
    fn sentences_are_broken_into_lines_and_figures_are_not_whatever_their_titles_are() {
        let table = Table {
            head: vec![
                Head::new("lock"),
                Head::new("why"),
                Head::new("what").of(Contents::Sentences),
            ],
            rows: vec![["a", "1 of 2", "it was so"].map(Cell::plain).to_vec()],
        };
        assert_eq!(
            tabled(&table),
            "| lock | why | what |\n|:--|--:|:--|\n| a | 1\u{a0}of\u{a0}2 | it was so |"
        );
    }

    #[test]
    fn names_are_text_and_no_markdown() {
        assert_eq!(plain("*a|b* @you <img>"), "\\*a&#124;b\\* &#64;you &#60;img&#62;");
    }
}
