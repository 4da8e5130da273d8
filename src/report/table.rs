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

/// The contents of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    Figures,
    Words,
    /// They may be broken into lines.
    Sentences,
}

/// The head of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub title: String,
    pub contents: Contents,
}

impl Head {
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            contents: Contents::Figures,
        }
    }

    pub fn of(self, contents: Contents) -> Self {
        Self { contents, ..self }
    }
}

/// A heading, and rows with the same number of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub head: Vec<Head>,
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these columns.
    pub fn of<'a, R: 'a>(columns: &[Column<R, impl AsRef<str>>], rows: impl IntoIterator<Item = &'a R>) -> Self {
        let row = |row| columns.iter().map(|(_, cell)| cell(row)).collect();
        Self {
            head: columns.iter().map(|(title, _)| Head::new(title.as_ref())).collect(),
            rows: rows.into_iter().map(row).collect(),
        }
    }

    /// The table as lines, each with a line break.
    pub fn render(&self, paint: Paint) -> String {
        self.lines().map(|parts| paint_line(&parts, paint) + "\n").collect()
    }

    /// The table in parts of at most so many columns of text, each with its first column; one column has what room it needs.
    pub fn split(&self, columns: usize) -> Vec<Self> {
        let part = |from: usize, until: usize| {
            let kept = |place: &usize| *place == 0 || (from..until).contains(place);
            let row = |row: &Vec<Cell>| (0..row.len()).filter(kept).map(|place| row[place].clone()).collect();
            Self {
                head: (0..self.head.len())
                    .filter(kept)
                    .map(|place| self.head[place].clone())
                    .collect(),
                rows: self.rows.iter().map(row).collect(),
            }
        };
        let (mut parts, mut from) = (Vec::new(), 1);
        if self.head.len() < 2 {
            return vec![self.clone()];
        }
        while from < self.head.len() {
            let fits = (from + 2..=self.head.len()).take_while(|until| part(from, *until).width() <= columns);
            let until = fits.last().unwrap_or(from + 1);
            parts.push(part(from, until));
            from = until;
        }
        parts
    }

    /// The columns of its lines.
    pub fn width(&self) -> usize {
        let width = |line: Vec<Cell>| line.iter().map(|part| part.text.width()).sum();
        self.lines().map(width).max().unwrap_or(0)
    }

    /// The head and the rows in parts that stand behind each other, padding among them.
    pub fn lines(&self) -> impl Iterator<Item = Vec<Cell>> {
        let head = self
            .head
            .iter()
            .map(|head| Cell::new(Tone::Strong, &head.title))
            .collect();
        let lines: Vec<Vec<Cell>> = std::iter::once(head).chain(self.rows.iter().cloned()).collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.text.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        lines.into_iter().map(move |line| spread(line, &widths))
    }
}

/// Parts that stand behind each other, as a line.
pub(super) fn paint_line(parts: &[Cell], paint: Paint) -> String {
    parts.iter().map(|part| paint.apply(part.tone, &part.text)).collect()
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
    fn a_wide_table_is_split_and_each_part_has_the_first_column() {
        let table = Table {
            head: ["arm", "one", "two", "three"].map(Head::new).to_vec(),
            rows: vec![["a", "1", "2", "3"].map(Cell::plain).to_vec()],
        };
        let parts = |columns| {
            table
                .split(columns)
                .into_iter()
                .map(|part| part.render(Paint::Off))
                .collect::<Vec<_>>()
        };
        assert_eq!(parts(100), [table.render(Paint::Off)]);
        assert_eq!(
            parts(13),
            ["arm  one  two\na      1    2\n", "arm  three\na        3\n"]
        );
    }

    #[test]
    fn columns_align_by_their_width_on_the_screen() {
        let table = Table {
            head: vec![Head::new("arm"), Head::new("oversold")],
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
