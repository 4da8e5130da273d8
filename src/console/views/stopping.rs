//! While a run is being ended: what is waited for.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{dialog, line};
use crate::console::app::Then;
use crate::console::theme::Theme;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, theme: &Theme, then: &Then) {
    let (title, next) = match then {
        Then::Quit => ("Stopping", "Then lockstorm quits; Ctrl-C again does not wait."),
        Then::Launch(_) => ("Starting anew", "Then a fresh lab starts. q quits instead."),
    };
    let inside = dialog(frame, area, [54, 4], title, theme);
    line(
        frame,
        inside,
        0,
        Line::from("The workers finish and the lab goes down …"),
    );
    line(frame, inside, 1, Line::styled(next, theme.dim));
}
