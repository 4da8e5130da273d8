//! What happened, newest first, with what each fault meant.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span, Text};

use crate::console::app::App;
use crate::console::text;
use crate::report::Moment;
use lockstorm_run::{Phase, Snapshot};

/// The columns of the time and the letter.
const INDENT: usize = 10;
/// The most lines for one moment.
const LINES: usize = 3;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot, told: &[Moment]) {
    let theme = &app.theme;
    let room = usize::from(area.width).saturating_sub(INDENT + 1);
    if area.height < 2 {
        return;
    }
    let teaches = snapshot.act.as_ref().and_then(|act| act.teaches.as_deref());
    let teaches = teaches.filter(|_| area.height >= 6 && snapshot.phase == Phase::Running);
    let rows = [Constraint::Min(0), Constraint::Length(u16::from(teaches.is_some()))];
    let [area, tip] = Layout::vertical(rows).areas(area);
    if let Some(teaches) = teaches {
        let words = text::fit(teaches, usize::from(area.width).saturating_sub(7));
        let line = vec![Span::styled(" TRY  ", theme.accent), Span::styled(words, theme.strong)];
        frame.render_widget(Line::from(line), tip);
    }
    let mut lines = vec![Line::styled(" WHAT JUST HAPPENED", theme.strong)];
    for moment in told.iter().rev() {
        let style = if moment.is_bad { theme.bad_block } else { theme.base };
        for (index, words) in text::wrap(&moment.in_words(), room).into_iter().take(LINES).enumerate() {
            let head = match index {
                0 => format!("{:>7.1} {} ", moment.at, moment.letter.unwrap_or(' ')),
                _ => " ".repeat(INDENT),
            };
            lines.push(Line::from(vec![
                Span::styled(head, theme.dim),
                Span::styled(words, style),
            ]));
        }
        if lines.len() >= usize::from(area.height) {
            break;
        }
    }
    if lines.len() == 1 {
        lines.push(Line::styled("        nothing yet", theme.dim));
    }
    lines.truncate(usize::from(area.height));
    frame.render_widget(Text::from(lines), area);
}
