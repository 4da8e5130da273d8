//! The screen as a picture (SVG). README's moving picture is drawn with it, too.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// The size of a cell in pixels.
const CELL: (u32, u32) = (9, 18);
/// The colours where the terminal has its own.
const GROUND: &str = "#1c1c1c";
const TEXT: &str = "#eeeeee";

/// The screen as a picture of text.
pub(super) fn svg(buffer: &Buffer) -> String {
    let rows = (0..).zip(buffer.content().chunks(usize::from(buffer.area.width.max(1))));
    let pieces: String = rows.flat_map(|(y, row)| pieces(row, y)).collect();
    page((buffer.area.width, buffer.area.height), &pieces)
}

/// A picture of so many columns and rows, and what is on it.
pub fn page((columns, rows): (u16, u16), pieces: &str) -> String {
    let (width, height) = (u32::from(columns) * CELL.0, u32::from(rows) * CELL.1);
    // Letters of the first two fonts are as wide as a cell at this size. Chromium keeps the blanks between words for the style only,
    // others for the attribute.
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" \
         font-size=\"14.95\" xml:space=\"preserve\">\n<style>text{{white-space:pre}}</style>\n<rect width=\"{width}\" height=\"{height}\" fill=\"{GROUND}\"/>\n{pieces}</svg>\n"
    )
}

/// The pieces of row `y` that look the same, as elements. What shows nothing has none.
pub fn pieces(row: &[Cell], y: u32) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < row.len() {
        let look = look(&row[from]);
        let length = row[from..].iter().take_while(|cell| self::look(cell) == look).count();
        let mut out = String::new();
        piece(&mut out, &row[from..from + length], (from, y), look);
        pieces.extend(Some(out).filter(|out| !out.is_empty()));
        from += length;
    }
    pieces
}

/// The colours of a cell, the ground second, and whether it is bold and dim.
type Look = ([Option<String>; 2], bool, bool);

fn look(cell: &Cell) -> Look {
    let mut colours = [colour(cell.fg), colour(cell.bg)];
    if cell.modifier.contains(Modifier::REVERSED) {
        let [text, ground] = colours;
        colours = [
            ground.or_else(|| Some(GROUND.to_owned())),
            text.or_else(|| Some(TEXT.to_owned())),
        ];
    }
    let has = |modifier| cell.modifier.contains(modifier);
    (colours, has(Modifier::BOLD), has(Modifier::DIM))
}

fn piece(out: &mut String, cells: &[Cell], (column, row): (usize, u32), (colours, bold, dim): Look) {
    let pixels = |cells: usize| u32::try_from(cells).unwrap_or(0) * CELL.0;
    let y = row * CELL.1;
    let [text, ground] = colours;
    if let Some(ground) = ground.filter(|ground| ground != GROUND) {
        let (x, width, height) = (pixels(column), pixels(cells.len()), CELL.1);
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{ground}\"/>"
        );
    }
    // Blanks at its ends show nothing.
    let is_blank = |cell: &Cell| cell.symbol().trim().is_empty();
    let before = cells.iter().take_while(|cell| is_blank(cell)).count();
    let after = cells[before..].iter().rev().take_while(|cell| is_blank(cell)).count();
    let words = &cells[before..cells.len() - after];
    if words.is_empty() {
        return;
    }
    let (x, y, width) = (pixels(column + before), y + CELL.1 - 5, pixels(words.len()));
    let fill = text.unwrap_or_else(|| TEXT.to_owned());
    let weight = if bold { " font-weight=\"bold\"" } else { "" };
    let opacity = if dim { " opacity=\".6\"" } else { "" };
    let words: String = words.iter().map(Cell::symbol).collect();
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // `textLength` keeps columns in place whatever the font is.
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" fill=\"{fill}\"{weight}{opacity} textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\">{words}</text>"
    );
}

/// A colour of the 256 as the terminals of today show it; `None` for the terminal's own, to which the first sixteen belong.
fn colour(colour: Color) -> Option<String> {
    let Color::Indexed(index) = colour else { return None };
    let [red, green, blue] = match index {
        0..16 => return None,
        16..232 => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = index - 16;
            [level(cube / 36), level(cube / 6 % 6), level(cube % 6)]
        }
        232.. => [8 + 10 * (index - 232); 3],
    };
    Some(format!("#{red:02x}{green:02x}{blue:02x}"))
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn what_looks_the_same_is_one_piece_and_text_is_escaped() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 1));
        buffer.set_string(0, 0, "a<b", Style::new().fg(Color::Indexed(203)).bold());
        buffer.set_string(3, 0, "✖ ", Style::new().fg(Color::Indexed(234)).bg(Color::Indexed(255)));
        let svg = svg(&buffer);
        assert!(
            svg.contains(">a&lt;b</text>") && svg.contains("fill=\"#ff5f5f\" font-weight=\"bold\""),
            "{svg}"
        );
        assert!(
            svg.contains("width=\"18\" height=\"18\" fill=\"#eeeeee\"/>")
                && svg.contains("\"9\" lengthAdjust=\"spacingAndGlyphs\">✖</text>"),
            "{svg}"
        );
        assert_eq!(svg.matches("<text").count(), 2);
    }
}
