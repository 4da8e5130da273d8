//! Which rows of a long list are shown.

use std::ops::Range;

use ratatui::text::Line;

use crate::console::theme::Theme;

/// A part of a list, and how many rows are hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VisibleRows {
    /// The rows that are shown.
    pub shown: Range<usize>,
    /// How many are hidden. If there are any, the last row says so.
    pub hidden: usize,
}

impl VisibleRows {
    /// The part of a list of `length` that fits into `rows`, with the chosen row in sight.
    pub fn of(length: usize, rows: usize, chosen: usize) -> Self {
        if length <= rows {
            return Self {
                shown: 0..length,
                hidden: 0,
            };
        }
        // A single row shows the chosen one.
        let rows = if rows > 1 { rows - 1 } else { rows };
        let start = (chosen + 1).saturating_sub(rows).min(length - rows);
        Self {
            shown: start..start + rows,
            hidden: length - rows,
        }
    }

    /// The row that says how many are hidden, behind an indent; `None` if all are shown.
    pub fn more(&self, indent: &str, theme: &Theme) -> Option<Line<'static>> {
        (self.hidden > 0).then(|| Line::styled(format!("{indent}+{} more", self.hidden), theme.dim))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::ThemeName;

    #[test]
    fn the_chosen_one_is_in_sight_and_the_others_are_counted() {
        for length in 0..9 {
            for rows in 0..9 {
                for chosen in 0..length {
                    let VisibleRows { shown, hidden } = VisibleRows::of(length, rows, chosen);
                    assert_eq!(shown.len() + hidden, length);
                    assert!(shown.len() + usize::from(hidden > 0 && rows > 1) <= rows.max(1));
                    assert!(
                        rows == 0 || shown.contains(&chosen),
                        "{chosen} of {length} in {rows} rows"
                    );
                }
            }
        }
        let theme = Theme::new(ThemeName::Dark, false);
        let four = VisibleRows::of(7, 5, 0);
        let more = four.more(" ", &theme).map(|line| line.to_string());
        assert_eq!((four.shown.clone(), more.as_deref()), (0..4, Some(" +3 more")));
        assert_eq!(VisibleRows::of(7, 7, 6).more("", &theme), None);
    }
}
