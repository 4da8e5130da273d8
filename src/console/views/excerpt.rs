//! Which of many rows are shown where there is no room for all.

use std::ops::Range;

/// A stretch of a list, and how many of it are not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// Those that are shown.
    pub shown: Range<usize>,
    /// The others; while there are any, a row of their own says so.
    pub hidden: usize,
}

impl Excerpt {
    /// What of a list of `length` fits into so many rows, with the chosen one in sight.
    pub fn of(length: usize, rows: usize, chosen: usize) -> Self {
        if length <= rows {
            return Self {
                shown: 0..length,
                hidden: 0,
            };
        }
        // A single row is the chosen one's.
        let rows = if rows > 1 { rows - 1 } else { rows };
        let start = (chosen + 1).saturating_sub(rows).min(length - rows);
        Self {
            shown: start..start + rows,
            hidden: length - rows,
        }
    }

    /// The row that says how many are not shown; none while all are.
    pub fn more(&self) -> Option<String> {
        (self.hidden > 0).then(|| format!("+{} more", self.hidden))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_one_is_in_sight_and_the_others_are_counted() {
        for length in 0..9 {
            for rows in 0..9 {
                for chosen in 0..length {
                    let Excerpt { shown, hidden } = Excerpt::of(length, rows, chosen);
                    assert_eq!(shown.len() + hidden, length);
                    assert!(shown.len() + usize::from(hidden > 0 && rows > 1) <= rows.max(1));
                    assert!(
                        rows == 0 || shown.contains(&chosen),
                        "{chosen} of {length} in {rows} rows"
                    );
                }
            }
        }
        let four = Excerpt::of(7, 5, 0);
        assert_eq!((four.shown.clone(), four.more().as_deref()), (0..4, Some("+3 more")));
        assert_eq!(Excerpt::of(7, 7, 6).more(), None);
    }
}
