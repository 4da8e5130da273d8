//! The line under the header that says what to look at, in scenarios that have captions.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::console::app::App;
use crate::console::text;
use lockstorm_data::model::printable;
use lockstorm_run::Phase;

/// Its rows: none without a caption, and before and after the load.
pub(super) fn height(app: &App) -> u16 {
    u16::from(now(app).is_some())
}

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    if let Some(caption) = now(app) {
        let act = app.picture().and_then(|snapshot| snapshot.act.as_ref());
        let act = act.map_or_else(|| " ▸ ".to_owned(), |act| format!(" ACT {}/{}  ", act.number, act.of));
        let room = usize::from(area.width).saturating_sub(text::width(&act));
        let line = vec![
            Span::styled(act, app.theme.accent),
            Span::styled(text::fit(&caption, room), app.theme.strong),
        ];
        frame.render_widget(Line::from(line), area);
    }
}

fn now(app: &App) -> Option<String> {
    let snapshot = app.picture().filter(|_| app.picker.is_none())?;
    let runs = matches!(snapshot.phase, Phase::Running | Phase::Draining);
    snapshot.caption.as_deref().filter(|_| runs).map(printable)
}
