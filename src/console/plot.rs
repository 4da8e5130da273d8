//! Lines in braille: a grid of dots, two for each column and four for each row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Bits of a braille cell by row and column.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// The braille character without dots.
const BLANK: u32 = 0x2800;

/// The bars of a lane, the lowest first.
pub(super) const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Dots to be drawn into an area, in lines with a style each. Where two lines meet in a cell, the later style wins.
#[derive(Debug)]
pub(super) struct Dots {
    area: Rect,
    cells: Vec<(u8, Style)>,
}

impl Dots {
    pub fn new(area: Rect) -> Self {
        Self {
            area,
            cells: vec![(0, Style::new()); usize::from(area.width) * usize::from(area.height)],
        }
    }

    /// The height of the area in dots.
    pub const fn height(&self) -> u16 {
        self.area.height * 4
    }

    /// Adds a line that keeps its height through each step and joins the steps; `None` is a gap. `steps` are the heights
    /// of the columns of dots, from the left, counted from the bottom. A thick line is two dots high.
    pub fn line(&mut self, steps: impl Iterator<Item = Option<u16>>, thick: bool, style: Style) {
        let mut before: Option<u16> = None;
        for (x, step) in (0_u16..).zip(steps) {
            if let Some(y) = step {
                let from = before.unwrap_or(y);
                for y in from.min(y).saturating_sub(u16::from(thick))..=from.max(y) {
                    self.set(x, y, style);
                }
            }
            before = step;
        }
    }

    fn set(&mut self, x: u16, from_bottom: u16, style: Style) {
        let Some(y) = (self.area.height * 4).checked_sub(from_bottom + 1) else {
            return;
        };
        let (column, row) = (x / 2, y / 4);
        if column >= self.area.width {
            return;
        }
        let index = usize::from(row) * usize::from(self.area.width) + usize::from(column);
        if let Some(cell) = self.cells.get_mut(index) {
            cell.0 |= DOTS[usize::from(y % 4)][usize::from(x % 2)];
            cell.1 = style;
        }
    }

    /// Draws the cells that have dots.
    pub fn draw(&self, buffer: &mut Buffer) {
        for (row, cells) in (self.area.y..).zip(self.cells.chunks(usize::from(self.area.width.max(1)))) {
            for (column, &(dots, style)) in (self.area.x..).zip(cells) {
                if dots == 0 {
                    continue;
                }
                if let (Some(c), Some(cell)) = (char::from_u32(BLANK + u32::from(dots)), buffer.cell_mut((column, row)))
                {
                    cell.set_char(c).set_style(style);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_joined_and_gaps_are_not() {
        let area = Rect::new(0, 0, 3, 1);
        let mut dots = Dots::new(area);
        dots.line(
            [Some(0), Some(3), None, None, Some(3), Some(3)].into_iter(),
            false,
            Style::new(),
        );
        let mut buffer = Buffer::empty(area);
        dots.draw(&mut buffer);
        let drawn: String = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
        assert_eq!(drawn, "⣸ ⠉");
    }

    #[test]
    fn dots_beyond_the_area_are_dropped() {
        let mut dots = Dots::new(Rect::new(0, 0, 1, 1));
        dots.line([Some(9), Some(9), Some(9)].into_iter(), false, Style::new());
        let mut empty = Dots::new(Rect::new(0, 0, 0, 0));
        empty.line([Some(0)].into_iter(), false, Style::new());
        empty.draw(&mut Buffer::empty(Rect::new(0, 0, 1, 1)));
    }
}
