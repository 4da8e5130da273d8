//! The time around a double hold, to scale: who held the lock, what the nodes forgot, who came in.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::details::show;
use crate::console::app::App;
use crate::report::{Paint, ShownHold, lanes_in_columns};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let (Some(lanes), Some(snapshot)) = (&app.lanes, &app.newest) else {
        return;
    };
    let Some(shown) = ShownHold::in_snapshot(snapshot, lanes.arm, &lanes.double) else {
        return;
    };
    let width = usize::from(area.width.saturating_sub(8).min(96));
    let text = lanes_in_columns(&shown, width, Paint::Off);
    let mut lines = text.lines();
    let kept = snapshot.arms.get(lanes.arm).map_or(0, |arm| arm.double_holds.len());
    let title = format!("{} ({kept} kept: ← →, Esc closes)", lines.next().unwrap_or_default());
    let style = |line: &str| {
        if line.starts_with("both ") {
            theme.bad_block
        } else {
            theme.base
        }
    };
    let lines = lines.skip(1).map(|line| Line::styled(line.to_owned(), style(line)));
    show(frame, area, app, &title, lines.collect());
}
