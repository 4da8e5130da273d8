//! A table of text: the first column is left-aligned and figures are right-aligned, with only space between the columns.

use unicode_width::UnicodeWidthStr;

use super::paint::{Paint, Tone};

/// The space between two columns.
const GAP: &str = "  ";

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub text: String,
    pub tone: Tone,
}

impl Cell {
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(Tone::Plain, text)
    }

    /// A figure that an arm does not have.
    pub fn none() -> Self {
        Self::new(Tone::Faint, "–")
    }
}

/// A column: its title, and what makes its cell of a row.
pub(super) type Column<R, T = &'static str> = (T, fn(&R) -> Cell);

/// A heading, and rows with the same number of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these columns.
    pub fn of<'a, R: 'a>(columns: &[Column<R, impl AsRef<str>>], rows: impl IntoIterator<Item = &'a R>) -> Self {
        let row = |row| columns.iter().map(|(_, cell)| cell(row)).collect();
        Self {
            head: columns.iter().map(|(title, _)| title.as_ref().to_owned()).collect(),
            rows: rows.into_iter().map(row).collect(),
        }
    }

    /// The table as lines, each with a line break.
    pub fn render(&self, paint: Paint) -> String {
        let line = |parts: Vec<Cell>| {
            parts
                .iter()
                .map(|part| paint.apply(part.tone, &part.text))
                .collect::<String>()
        };
        self.lines().map(|parts| line(parts) + "\n").collect()
    }

    /// The columns of its lines.
    pub fn width(&self) -> usize {
        let width = |line: Vec<Cell>| line.iter().map(|part| part.text.width()).sum();
        self.lines().map(width).max().unwrap_or(0)
    }

    /// The head and the rows in parts that stand behind each other, padding among them.
    pub fn lines(&self) -> impl Iterator<Item = Vec<Cell>> {
        let head: Vec<Cell> = self.head.iter().map(|title| Cell::new(Tone::Strong, title)).collect();
        let lines: Vec<Vec<Cell>> = std::iter::once(head).chain(self.rows.iter().cloned()).collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.text.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        lines.into_iter().map(move |line| spread(line, &widths))
    }
}

fn spread(cells: Vec<Cell>, widths: &[usize]) -> Vec<Cell> {
    let mut parts = Vec::new();
    for (column, (cell, width)) in cells.into_iter().zip(widths).enumerate() {
        let padding = Cell::plain(" ".repeat(width.saturating_sub(cell.text.width())));
        if column == 0 {
            parts.extend([cell, padding]);
        } else {
            parts.extend([Cell::plain(GAP), padding, cell]);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_their_width_on_the_screen() {
        let table = Table {
            head: vec!["arm".into(), "oversold".into()],
            rows: vec![
                vec![Cell::plain("no lock"), Cell::new(Tone::Bad, "✖ 214")],
                vec![Cell::plain("多"), Cell::none()],
            ],
        };
        assert_eq!(
            table.render(Paint::Off),
            "arm      oversold\nno lock     ✖ 214\n多              –\n"
        );
        let painted = table.render(Paint::On);
        assert!(
            painted.contains("   \u{1b}[1;31m✖ 214\u{1b}[0m\n"),
            "the padding stands outside the colour: {painted:?}"
        );
    }
}
