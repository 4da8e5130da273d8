//! Digits that can be read from the back of a room.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::console::score::Mark;

/// Rows of a glyph.
pub(super) const ROWS: u16 = 5;

/// The dots of a glyph, row by row.
fn glyph(c: char) -> [&'static str; 5] {
    match c {
        '0' => ["###", "# #", "# #", "# #", "###"],
        '1' => [" # ", "## ", " # ", " # ", "###"],
        '2' => ["###", "  #", "###", "#  ", "###"],
        '3' => ["###", "  #", "###", "  #", "###"],
        '4' => ["# #", "# #", "###", "  #", "  #"],
        '5' => ["###", "#  ", "###", "  #", "###"],
        '6' => ["###", "#  ", "###", "# #", "###"],
        '7' => ["###", "  #", "  #", "  #", "  #"],
        '8' => ["###", "# #", "###", "# #", "###"],
        '9' => ["###", "# #", "###", "  #", "###"],
        '.' => [" ", " ", " ", " ", "#"],
        'k' => ["#  ", "# #", "## ", "# #", "# #"],
        'M' => ["#   #", "## ##", "# # #", "#   #", "#   #"],
        'G' => ["###", "#  ", "# #", "# #", "###"],
        '✖' => ["#   #", " # # ", "  #  ", " # # ", "#   #"],
        '✔' => ["    #", "   ##", "#  # ", "## # ", " ##  "],
        '–' => ["   ", "   ", "###", "   ", "   "],
        _ => [" "; 5],
    }
}

/// The columns of a text when a dot is so many columns wide.
fn width(text: &str, dot: u16) -> u16 {
    let dots = text
        .chars()
        .map(|c| glyph(c)[0].len() + 1)
        .sum::<usize>()
        .saturating_sub(1);
    u16::try_from(dots).unwrap_or(u16::MAX).saturating_mul(dot)
}

/// The largest size, as rows of a dot, at which the text fits; with its mark before it if that fits too.
pub(super) fn fit(mark: Mark, value: &str, columns: u16, rows: u16) -> Option<(String, [u16; 2])> {
    let with_mark = match mark {
        Mark::Good | Mark::Poor | Mark::Damage => format!("{} {value}", mark.symbol()),
        Mark::Pending | Mark::Missing => value.to_owned(),
    };
    let fits = |text: &str, size: [u16; 2]| width(text, size[0]) <= columns && size[1] * ROWS <= rows;
    // A dot of two columns and one row is square.
    let sizes = (1..=12).rev().map(|rows| [rows * 2, rows]).chain([[1, 1]]);
    let best = |text: &str| sizes.clone().find(|&size| fits(text, size));
    match (best(&with_mark), best(value)) {
        // Larger digits are worth more than a mark that the caption has anyway.
        (Some(marked), Some(bare)) if marked == bare => Some((with_mark, marked)),
        (_, Some(bare)) => Some((value.to_owned(), bare)),
        _ => None,
    }
}

/// Draws it in the middle of the area.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, text: &str, [dot, rows]: [u16; 2], style: Style) {
    let mut x = area.x + area.width.saturating_sub(width(text, dot)) / 2;
    let top = area.y + area.height.saturating_sub(rows * ROWS) / 2;
    for c in text.chars() {
        let glyph = glyph(c);
        for (row, dots) in (0_u16..).zip(glyph) {
            for (column, _) in dots.bytes().enumerate().filter(|(_, byte)| *byte == b'#') {
                let left = x + u16::try_from(column).unwrap_or(0) * dot;
                for y in top + row * rows..top + (row + 1) * rows {
                    for x in left..left + dot {
                        if let Some(cell) = buffer.cell_mut((x, y)).filter(|_| area.contains((x, y).into())) {
                            cell.set_symbol("█").set_style(style);
                        }
                    }
                }
            }
        }
        x += (u16::try_from(glyph[0].len()).unwrap_or(0) + 1) * dot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_gives_way_to_larger_digits() {
        assert_eq!(fit(Mark::Damage, "7", 40, 5), Some(("✖ 7".to_owned(), [2, 1])));
        assert_eq!(fit(Mark::Damage, "1377", 38, 5), Some(("1377".to_owned(), [2, 1])));
        assert_eq!(fit(Mark::Good, "0", 3, 5), Some(("0".to_owned(), [1, 1])));
        assert_eq!(fit(Mark::Good, "0", 40, 4), None);
    }
}
