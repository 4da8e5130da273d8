//! A bar for each arm: the figure that its workload is about, such as units sold out of the stock.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::parts::{Frames, mark_style, panel};
use super::visible_rows::VisibleRows;
use crate::console::app::App;
use crate::console::score::Score;
use crate::console::text;
use crate::report::{Arm, Mark};
use lockstorm_data::metrics::units::place;
use lockstorm_run::Snapshot;

/// The columns of the figure at the end of a bar.
const FIGURE: usize = 8;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, frames: Frames, app: &App, snapshot: &Snapshot) {
    let theme = &app.theme;
    let bars = snapshot.scenario.workload.about().display().bars;
    let title = format!(" {} {} ", bars.figure.title(), bars.note);
    let titles = [Line::styled(title, theme.strong), Line::default()];
    let inside = panel(frame, area, frames, titles, theme);
    let arms: Vec<Arm<'_>> = Arm::all_of_snapshot(snapshot).into_iter().map(Arm::narrow).collect();
    let names = text::widest(arms.iter().map(|arm| arm.name)).min(usize::from(inside.width) / 3);
    let room = usize::from(inside.width).saturating_sub(names + FIGURE + 4);
    let full = bars.full.map(|full| full as f64);
    let values = arms.iter().map(|arm| bars.figure.of(arm.figures));
    let most = values.fold(full.unwrap_or(1.0), f64::max);
    let length = |value: f64| {
        let cells = place(value / most * room as f64);
        cells.max(usize::from(value > 0.0)).min(room)
    };
    let visible = VisibleRows::of(arms.len(), usize::from(inside.height), app.arm);
    let mut lines = Vec::new();
    for index in visible.shown.clone() {
        let arm = &arms[index];
        let score = Score::of(bars.figure, arm);
        let drawn = length(bars.figure.of(arm.figures));
        // Units sold beyond the stock of their product are damage, even while other products have units left.
        let bad = bars
            .damage
            .map_or(0, |damage| length(damage.of(arm.figures)).min(drawn));
        let is_damaged = bars.damage.is_some_and(|damage| damage.is_proven(arm.figures));
        let (mark, style) = if is_damaged {
            (format!("{} ", Mark::Damage.symbol()), theme.bad)
        } else {
            (String::new(), mark_style(score.mark, theme))
        };
        let bar_style = if bars.damage.is_some() { theme.p50 } else { style };
        let name_style = if index == app.arm { theme.strong } else { theme.base };
        let mut spans = vec![
            Span::styled(format!(" {} ", text::left(arm.name, names)), name_style),
            Span::styled("█".repeat(drawn - bad), bar_style),
            Span::styled("▓".repeat(bad), theme.bad_block),
        ];
        let limit = full.map_or(0, length);
        if drawn < limit {
            spans.push(Span::styled("·".repeat(limit - drawn - 1), theme.dim));
            spans.push(Span::styled("│", theme.dim));
        }
        spans.push(Span::styled(format!(" {mark}{}", score.cell()), style));
        lines.push(Line::from(spans));
    }
    lines.extend(visible.more(" ", theme));
    frame.render_widget(Text::from(lines), inside);
}
