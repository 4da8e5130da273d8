//! One large figure for each arm, for a room.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::{digits, line, mark_style};
use crate::console::app::App;
use crate::console::score::{Damage, Headline, Mark, without_quorum};
use crate::console::text;
use crate::metrics::{ArmView, Snapshot};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let theme = &app.theme;
    let headline = Headline::of(&snapshot.scenario);
    line(
        frame,
        area,
        0,
        Line::styled(headline.name().to_uppercase(), theme.strong).centered(),
    );
    let area = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    };
    let arms = snapshot.arms.len();
    let columns = best_columns(arms, area);
    let lines = arms.div_ceil(columns.max(1));
    let rows = Layout::vertical((0..lines).map(|_| Constraint::Fill(1))).split(area);
    for (row, first) in rows.iter().zip((0..arms).step_by(columns.max(1))) {
        let cells = Layout::horizontal((0..columns).map(|_| Constraint::Fill(1)))
            .spacing(1)
            .split(*row);
        for (&cell, index) in cells.iter().zip(first..arms) {
            let damage = app.damage.get(index).copied().unwrap_or_default();
            tile(frame, cell, app, headline, &snapshot.arms[index], &damage);
        }
    }
}

/// The number of columns that leaves the largest tiles: a tile of digits is about three times as wide as high.
fn best_columns(arms: usize, area: Rect) -> usize {
    let size = |columns: usize| {
        let width = usize::from(area.width) / columns;
        let height = (usize::from(area.height) / arms.div_ceil(columns)).saturating_sub(2);
        (width / 4).min(height)
    };
    // Of equals the fewest columns: longer captions.
    (1..=arms.max(1))
        .rev()
        .max_by_key(|&columns| size(columns))
        .unwrap_or(1)
}

fn tile(frame: &mut Frame<'_>, area: Rect, app: &App, headline: Headline, arm: &ArmView, damage: &Damage) {
    let theme = &app.theme;
    let score = headline.score(arm, damage);
    let style = mark_style(score.mark, theme);
    let mut caption = vec![
        Span::styled(
            text::fit(&arm.name, usize::from(area.width).saturating_sub(2)),
            theme.strong,
        ),
        Span::raw("  "),
        Span::styled(score.cell(), style),
    ];
    let remark = match score.mark {
        Mark::Pending if headline == Headline::Oversold => "not sold out yet",
        Mark::Pending => "nothing to judge yet",
        _ if damage.any() && score.mark != Mark::Damage => "✖ damage",
        _ if without_quorum(arm) => "no quorum",
        _ => "",
    };
    let remark_style = if remark.starts_with('✖') {
        theme.bad
    } else {
        theme.dim
    };
    caption.push(Span::styled(format!("  {remark}"), remark_style));
    let mut kept = usize::from(area.width);
    caption.retain(|span| {
        let fits = span.width() <= kept;
        kept = kept.saturating_sub(if fits { span.width() } else { 0 });
        fits
    });
    line(frame, area, 0, Line::from(caption).centered());
    let room = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    };
    if let Some((text, size)) = digits::fit(score.mark, &score.value, room.width.saturating_sub(2), room.height) {
        // Blocks are their own ground.
        let style = Style {
            bg: theme.base.bg,
            ..style
        }
        .remove_modifier(Modifier::REVERSED);
        digits::draw(frame.buffer_mut(), room, &text, size, style);
    }
}
