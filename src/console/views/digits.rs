//! Digits that can be read from the back of a room.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Rows of a glyph.
pub(super) const ROWS: u16 = 5;

/// The dots of a digit, row by row.
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
        ',' => ["  ", "  ", "  ", " #", "# "],
        'k' => ["#  ", "# #", "## ", "# #", "# #"],
        'M' => ["#   #", "## ##", "# # #", "#   #", "#   #"],
        'G' => ["###", "#  ", "# #", "# #", "###"],
        '✖' => ["#   #", " # # ", "  #  ", " # # ", "#   #"],
        '✔' => ["    #", "   ##", "#  # ", "## # ", " ##  "],
        '–' => ["   ", "   ", "###", "   ", "   "],
        _ => [" "; 5],
    }
}

/// The size of a dot, in columns and rows.
pub(super) type Size = [u16; 2];

/// The columns of a text whose dots are `dot` columns wide.
fn width(text: &str, dot: u16) -> u16 {
    let dots = text
        .chars()
        .map(|c| glyph(c)[0].len() + 1)
        .sum::<usize>()
        .saturating_sub(1);
    u16::try_from(dots).unwrap_or(u16::MAX).saturating_mul(dot)
}

/// The largest size at which every text fits into an area with this many columns and rows; `None` if there is none.
#[expect(
    clippy::needless_pass_by_value,
    reason = "an iterator is cheap to clone, and awkward to borrow"
)]
pub(super) fn size<'a>(texts: impl Iterator<Item = &'a str> + Clone, columns: u16, rows: u16) -> Option<Size> {
    // A dot of two columns and one row is roughly square. Half as wide or slightly wider still reads well.
    let sizes = (1..=12).flat_map(|high| (high..=high * 2 + 1).map(move |wide| [wide, high]));
    let fits = |[wide, high]: &Size| high * ROWS <= rows && texts.clone().all(|text| width(text, *wide) <= columns);
    sizes.filter(fits).max_by_key(|[wide, high]| wide * high)
}

/// Draws a text in the middle of the area.
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
    fn the_longest_text_decides() {
        assert_eq!(size(["7", "1377"].into_iter(), 40, 5), Some([2, 1]));
        assert_eq!(size(["7"].into_iter(), 40, 10), Some([5, 2]));
        assert_eq!(size(["0"].into_iter(), 3, 5), Some([1, 1]));
        assert_eq!(size(["0"].into_iter(), 40, 4), None);
    }
}
