//! Names in letters that are three rows high: a dot is half a cell, and all letters are capitals. The font of tui-big-text needs a
//! fourth row, for which the figures would be half as high at 120×36.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Rows of a line of letters.
pub(super) const ROWS: u16 = 3;

/// The dots of a letter, row by row; `None` for a character that has none.
fn glyph(c: char) -> Option<[&'static str; 5]> {
    Some(match c.to_ascii_uppercase() {
        'A' => [" # ", "# #", "###", "# #", "# #"],
        'B' => ["## ", "# #", "## ", "# #", "## "],
        'C' => [" ##", "#  ", "#  ", "#  ", " ##"],
        'D' => ["## ", "# #", "# #", "# #", "## "],
        'E' => ["###", "#  ", "## ", "#  ", "###"],
        'F' => ["###", "#  ", "## ", "#  ", "#  "],
        'G' => [" ##", "#  ", "# #", "# #", " ##"],
        'H' => ["# #", "# #", "###", "# #", "# #"],
        'I' => ["###", " # ", " # ", " # ", "###"],
        'J' => ["  #", "  #", "  #", "# #", " # "],
        'K' => ["# #", "# #", "## ", "# #", "# #"],
        'L' => ["#  ", "#  ", "#  ", "#  ", "###"],
        'M' => ["#   #", "## ##", "# # #", "#   #", "#   #"],
        'N' => ["#  #", "## #", "# ##", "#  #", "#  #"],
        'O' => ["###", "# #", "# #", "# #", "###"],
        'P' => ["## ", "# #", "## ", "#  ", "#  "],
        'Q' => ["### ", "# # ", "# # ", "####", "   #"],
        'R' => ["## ", "# #", "## ", "# #", "# #"],
        'S' => [" ##", "#  ", " # ", "  #", "## "],
        'T' => ["###", " # ", " # ", " # ", " # "],
        'U' => ["# #", "# #", "# #", "# #", "###"],
        'V' => ["# #", "# #", "# #", "# #", " # "],
        'W' => ["#   #", "#   #", "# # #", "## ##", "#   #"],
        'X' => ["# #", "# #", " # ", "# #", "# #"],
        'Y' => ["# #", "# #", " # ", " # ", " # "],
        'Z' => ["###", "  #", " # ", "#  ", "###"],
        '0' => ["###", "# #", "# #", "# #", "###"],
        '1' => [" # ", "## ", " # ", " # ", "###"],
        '2' => ["## ", "  #", " # ", "#  ", "###"],
        '3' => ["## ", "  #", " # ", "  #", "## "],
        '4' => ["# #", "# #", "###", "  #", "  #"],
        '5' => ["###", "#  ", "## ", "  #", "## "],
        '6' => [" ##", "#  ", "###", "# #", "###"],
        '7' => ["###", "  #", " # ", " # ", " # "],
        '8' => ["###", "# #", "###", "# #", "###"],
        '9' => ["###", "# #", "###", "  #", "## "],
        ' ' => ["  "; 5],
        '-' => ["   ", "   ", "###", "   ", "   "],
        '_' => ["   ", "   ", "   ", "   ", "###"],
        '+' => ["   ", " # ", "###", " # ", "   "],
        '=' => ["   ", "###", "   ", "###", "   "],
        '/' => ["  #", "  #", " # ", "#  ", "#  "],
        '.' => [" ", " ", " ", " ", "#"],
        ',' => ["  ", "  ", "  ", " #", "# "],
        ':' => [" ", "#", " ", "#", " "],
        _ => return None,
    })
}

/// The columns of a name; `None` if it can't be drawn.
pub(super) fn width(name: &str) -> Option<u16> {
    let columns = name.chars().map(|c| glyph(c).map(|glyph| glyph[0].len() + 1));
    let columns: usize = columns.sum::<Option<usize>>()?;
    u16::try_from(columns.saturating_sub(1)).ok()
}

/// Draws a name in the middle of the first rows of an area.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, name: &str, style: Style) {
    let mut x = area.x + area.width.saturating_sub(width(name).unwrap_or(0)) / 2;
    for glyph in name.chars().filter_map(glyph) {
        for column in 0..glyph[0].len() {
            let is_set = |row: usize| glyph.get(row).is_some_and(|dots| dots.as_bytes()[column] == b'#');
            for (y, row) in (area.y..).zip([0, 2, 4]) {
                let symbol = match (is_set(row), is_set(row + 1)) {
                    (true, true) => "█",
                    (true, false) => "▀",
                    (false, true) => "▄",
                    (false, false) => continue,
                };
                if let Some(cell) = buffer.cell_mut((x, y)).filter(|_| area.contains((x, y).into())) {
                    cell.set_symbol(symbol).set_style(style);
                }
            }
            x += 1;
        }
        x += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_letter_are_equally_long() {
        for glyph in (' '..='~').filter_map(glyph) {
            assert!(glyph.iter().all(|row| row.len() == glyph[0].len()), "{glyph:?}");
        }
        assert!(
            ('a'..='z')
                .chain('A'..='Z')
                .chain('0'..='9')
                .all(|c| glyph(c).is_some())
        );
    }

    #[test]
    fn a_name_is_drawn_or_it_has_no_width() {
        let area = Rect::new(0, 0, 11, 3);
        let mut buffer = Buffer::empty(area);
        assert_eq!(width("lo"), Some(7));
        draw(&mut buffer, area, "lo", Style::new());
        let rows: Vec<String> = buffer
            .content()
            .chunks(11)
            .map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect())
            .collect();
        assert_eq!(rows, ["  █   █▀█  ", "  █   █ █  ", "  ▀▀▀ ▀▀▀  "]);
        assert_eq!(width("漢字"), None);
    }
}
