//! What the scenario expects, and how it stands.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{dialog, line, verdict};
use crate::console::app::App;
use crate::console::text;
use crate::metrics::{ArmView, Phase, Snapshot, units};
use crate::model::Held;
use crate::scenario::{Expectation, Unit};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let Some(snapshot) = app.picture() else {
        let inside = dialog(frame, area, [44, 3], "Expectations", theme);
        line(frame, inside, 0, Line::from("The run has not started yet."));
        return;
    };
    let expected = &snapshot.scenario.expect;
    let wanted = u16::try_from(expected.len().max(1) + 2).unwrap_or(u16::MAX);
    let width = (area.width * 4 / 5).clamp(56, 100);
    let over = matches!(snapshot.phase, Phase::Finished { .. });
    let title = if over { "Expectations" } else { "Expectations, so far" };
    let inside = dialog(frame, area, [width, wanted], title, theme);
    if expected.is_empty() {
        line(
            frame,
            inside,
            0,
            Line::from("This scenario expects nothing: it only shows."),
        );
    }
    let most = expected.len().saturating_sub(usize::from(inside.height));
    app.scroll_most.set(most);
    for (row, index) in (0..inside.height).zip(app.scroll.min(most)..expected.len()) {
        let (held, words) = standing(snapshot, index);
        let (mark, style) = verdict(held, theme);
        let words = text::fit(&words, usize::from(inside.width).saturating_sub(2));
        line(
            frame,
            inside,
            row,
            Line::from(vec![Span::styled(mark, style), Span::raw(format!(" {words}"))]),
        );
    }
}

/// Whether it holds now, or held at the end.
fn standing(snapshot: &Snapshot, index: usize) -> (Held, String) {
    if let Phase::Finished { expectations, .. } = &snapshot.phase
        && let Some(said) = expectations.get(index)
    {
        return said.clone();
    }
    let expectation = &snapshot.scenario.expect[index];
    let name = format!("{}.{} {}", expectation.arm, expectation.metric.name(), expectation.text);
    match snapshot.arms.iter().find(|arm| arm.name == expectation.arm) {
        Some(arm) => {
            let value = arm.figures.get(expectation.metric);
            let holds = expectation.op.holds(value, expectation.bound);
            let held = if holds { Held::Yes } else { Held::No };
            (held, format!("{name}: {}", now(expectation, arm)))
        }
        None => (Held::Inconclusive, name),
    }
}

fn now(expectation: &Expectation, arm: &ArmView) -> String {
    let value = arm.figures.get(expectation.metric);
    match expectation.metric.unit() {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a latency
        Unit::Micros => units::micros(value as u64),
        Unit::Count | Unit::PerSecond => text::rate(value),
    }
}
