//! The time around a double hold, to scale: who held the lock, what the nodes forgot, who came in.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::details::show;
use crate::console::app::App;
use crate::report::{Cell, ShownHold, Tone, lanes_in_columns};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let (Some(lanes), Some(snapshot)) = (&app.lanes, &app.newest) else {
        return;
    };
    let Some(shown) = ShownHold::in_snapshot(snapshot, lanes.arm, &lanes.double) else {
        return;
    };
    let width = usize::from(area.width.saturating_sub(8).min(96));
    let mut lines = lanes_in_columns(&shown, width).into_iter();
    let kept = snapshot.arms.get(lanes.arm).map_or(0, |arm| arm.double_holds.len());
    let text = |line: &[Cell]| line.iter().map(|part| part.text.as_str()).collect::<String>();
    let title = lines.next().unwrap_or_default();
    let title = format!("{} ({kept} kept: ← →, Esc closes)", text(&title));
    let line = |line: Vec<Cell>| {
        let is_bad = line.iter().any(|part| part.tone == Tone::Bad);
        Line::styled(text(&line), if is_bad { theme.bad_block } else { theme.base })
    };
    let lines = lines.skip(1).map(line);
    show(frame, area, app, &title, lines.collect());
}
