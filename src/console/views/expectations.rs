//! The expectations of the scenario, and how they stand.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::parts::{dialog, sign_of, tone_style};
use crate::console::app::App;
use crate::console::text;
use crate::report::OPEN;
use lockstorm_data::metrics::Point;
use lockstorm_data::model::CheckResult;
use lockstorm_data::scenario::Expectation;
use lockstorm_judge::Judgement;
use lockstorm_run::{Phase, Snapshot};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let Some(snapshot) = app.picture() else { return };
    let (expected, judged) = (&snapshot.scenario.expect, snapshot.judge());
    let wanted = u16::try_from(expected.len() + 2).unwrap_or(u16::MAX);
    let width = (area.width * 4 / 5).clamp(56, 100);
    let over = matches!(snapshot.phase, Phase::Finished { .. });
    let title = if over { "Expectations" } else { "Expectations, so far" };
    let inside = dialog(frame, area, [width, wanted], title, theme);
    let most = expected.len().saturating_sub(usize::from(inside.height));
    app.scroll_most.set(most);
    let lines = (app.scroll.min(most)..expected.len()).map(|index| {
        let (held, words) = standing(app, snapshot, &judged, index);
        let open = (OPEN.1, tone_style(OPEN.0, theme));
        let (mark, style) = held.map_or(open, |held| sign_of(held, theme));
        let words = text::fit(&words, usize::from(inside.width).saturating_sub(2));
        Line::from(vec![Span::styled(mark, style), Span::raw(format!(" {words}"))])
    });
    frame.render_widget(lines.collect::<Text<'_>>(), inside);
}

/// The result of an expectation, `None` while that is open, and a sentence about it.
fn standing(app: &App, snapshot: &Snapshot, judged: &Judgement, index: usize) -> (Option<CheckResult>, String) {
    if matches!(snapshot.phase, Phase::Finished { .. })
        && let Some(checked) = judged.expectations.get(index)
    {
        return (Some(checked.result), checked.to_string());
    }
    let expectation = &snapshot.scenario.expect[index];
    let Expectation { arm, metric, text, .. } = expectation;
    if !app.knows_totals() && Point::default().of(*metric).is_none() {
        let words = format!("{arm}: {} {text}: told at the end of the record", metric.title());
        return (None, words);
    }
    match snapshot.arms.iter().find(|arm| arm.name == expectation.arm) {
        Some(arm) => {
            // What is counted during the warm-up does not count.
            let counts = !matches!(snapshot.phase, Phase::WarmUp);
            let decided = expectation.decided(&arm.figures).filter(|_| counts);
            let result = decided.map(|held| if held { CheckResult::Held } else { CheckResult::Failed });
            (result, expectation.in_words(&arm.figures))
        }
        None => (None, format!("{}: no figures", expectation.arm)),
    }
}
