//! A bar for each arm: units sold against the stock, or database hits per expiry.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::excerpt::Excerpt;
use super::{Frames, line, mark_style, panel};
use crate::console::app::App;
use crate::console::score::{Headline, Mark};
use crate::console::text;
use crate::metrics::{Metric, units};
use crate::run::{ArmView, Snapshot};
use crate::scenario::WorkloadSpec;

/// The columns of the figure at the end of a bar.
const FIGURE: usize = 8;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, frames: Frames, app: &App, snapshot: &Snapshot) {
    let theme = &app.theme;
    let stock = match &snapshot.scenario.workload {
        WorkloadSpec::Inventory(spec) => Some(spec.products.saturating_mul(spec.stock)),
        WorkloadSpec::CacheFill { .. } => None,
    };
    let title = stock.map_or_else(
        || format!(" {} (1 is perfect) ", Metric::DbHitsPerExpiry.title()),
        |stock| format!(" {} for a stock of {} ", Metric::Orders.title(), units::count(stock)),
    );
    let inside = panel(frame, area, frames, Line::styled(title, theme.strong), theme);
    let longest = snapshot
        .arms
        .iter()
        .map(|arm| text::width(&arm.name))
        .max()
        .unwrap_or(0);
    let names = longest.min(usize::from(inside.width) / 3);
    let room = usize::from(inside.width).saturating_sub(names + FIGURE + 4);
    let value = |arm: &ArmView| stock.map_or(arm.figures.db_hits_per_expiry.mean, |_| whole(arm.figures.orders));
    let most = snapshot.arms.iter().map(value).fold(stock.map_or(1.0, whole), f64::max);
    let excerpt = Excerpt::of(snapshot.arms.len(), usize::from(inside.height), app.arm);
    let mut row = 0;
    for (index, arm) in snapshot
        .arms
        .iter()
        .enumerate()
        .take(excerpt.shown.end)
        .skip(excerpt.shown.start)
    {
        let damage = app.damage(index);
        let name_style = if index == app.arm { theme.strong } else { theme.base };
        let mut spans = vec![Span::styled(format!(" {} ", text::left(&arm.name, names)), name_style)];
        let length = |value: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and the room"
            )]
            let cells = (value / most * room as f64).round() as usize;
            cells.max(usize::from(value > 0.0)).min(room)
        };
        if let Some(stock) = stock {
            let sold = arm.figures.orders;
            // What was sold beyond the stock of its product is damage, even while other products have units left.
            let beyond = length(whole(arm.figures.oversold)).min(length(whole(sold)));
            spans.push(Span::styled("█".repeat(length(whole(sold)) - beyond), theme.p50));
            spans.push(Span::styled("▓".repeat(beyond), theme.bad_block));
            let style = if damage.oversold { theme.bad } else { theme.base };
            let limit = length(whole(stock));
            let drawn = length(whole(sold));
            if drawn < limit {
                spans.push(Span::styled("·".repeat(limit - drawn - 1), theme.dim));
                spans.push(Span::styled("│", theme.dim));
            }
            let mark = if damage.oversold { "✖ " } else { "" };
            spans.push(Span::raw(" "));
            spans.push(Span::styled(format!("{mark}{}", text::count(sold)), style));
        } else {
            let score = Headline::HitsPerExpiry.score(arm, &damage);
            let style = mark_style(score.mark, theme);
            spans.push(Span::styled("█".repeat(length(value(arm))), style));
            let cell = if score.mark == Mark::Pending {
                " –".to_owned()
            } else {
                format!(" {}", score.cell())
            };
            spans.push(Span::styled(cell, style));
        }
        line(frame, inside, row, Line::from(spans));
        row += 1;
    }
    if let Some(more) = excerpt.more() {
        line(frame, inside, row, Line::styled(format!(" {more}"), theme.dim));
    }
}

const fn whole(n: u64) -> f64 {
    n as f64
}
