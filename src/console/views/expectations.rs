//! The expectations of the scenario, and how they stand.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{dialog, line, mark_style, sign_of};
use crate::console::app::App;
use crate::console::text;
use crate::metrics::units::figure;
use crate::model::CheckResult;
use crate::report::Mark;
use crate::run::{Phase, Snapshot};
use crate::scenario::{Expectation, Op};

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
        line(frame, inside, 0, Line::from("This scenario has no expectations."));
    }
    let most = expected.len().saturating_sub(usize::from(inside.height));
    app.scroll_most.set(most);
    for (row, index) in (0..inside.height).zip(app.scroll.min(most)..expected.len()) {
        let (held, words) = standing(snapshot, index);
        let open = (Mark::Pending.symbol(), mark_style(Mark::Pending, theme));
        let (mark, style) = held.map_or(open, |held| sign_of(held, theme));
        let words = text::fit(&words, usize::from(inside.width).saturating_sub(2));
        line(
            frame,
            inside,
            row,
            Line::from(vec![Span::styled(mark, style), Span::raw(format!(" {words}"))]),
        );
    }
}

/// The result of an expectation, `None` while that is open, and a sentence about it.
fn standing(snapshot: &Snapshot, index: usize) -> (Option<CheckResult>, String) {
    if let Phase::Finished { expectations, .. } = &snapshot.phase
        && let Some((held, words)) = expectations.get(index)
    {
        return (Some(*held), words.clone());
    }
    let expectation = &snapshot.scenario.expect[index];
    let name = format!("{}.{} {}", expectation.arm, expectation.metric.name(), expectation.text);
    match snapshot.arms.iter().find(|arm| arm.name == expectation.arm) {
        Some(arm) => {
            // What is counted during the warm-up does not count.
            let counts = !matches!(snapshot.phase, Phase::WarmUp);
            let value = expectation.judged().of(&arm.figures);
            let held = decided(expectation, value).filter(|_| counts);
            (held, format!("{name}: {}", figure(expectation.metric, value)))
        }
        None => (None, name),
    }
}

/// The result, if nothing can change it any more: a figure that only grows has passed its bound.
fn decided(expectation: &Expectation, value: f64) -> Option<CheckResult> {
    if expectation.judged().can_fall() {
        return None;
    }
    let Expectation { op, bound, .. } = *expectation;
    match (op, op.holds(value, bound)) {
        (Op::Less | Op::AtMost, false) => Some(CheckResult::Failed),
        (Op::Equal, false) if value > bound => Some(CheckResult::Failed),
        (Op::Greater | Op::AtLeast, true) => Some(CheckResult::Held),
        (Op::NotEqual, true) if value > bound => Some(CheckResult::Held),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metric;

    #[test]
    fn only_what_can_not_change_is_decided_before_the_end() {
        let expect = |metric, op, value| {
            let expectation = Expectation {
                arm: String::new(),
                metric,
                op,
                bound: 5.0,
                text: String::new(),
            };
            decided(&expectation, value)
        };
        for (op, [below, at, above]) in [
            (Op::Less, [None, Some(CheckResult::Failed), Some(CheckResult::Failed)]),
            (Op::AtMost, [None, None, Some(CheckResult::Failed)]),
            (Op::Equal, [None, None, Some(CheckResult::Failed)]),
            (Op::NotEqual, [None, None, Some(CheckResult::Held)]),
            (Op::AtLeast, [None, Some(CheckResult::Held), Some(CheckResult::Held)]),
            (Op::Greater, [None, None, Some(CheckResult::Held)]),
        ] {
            let said = [4.0, 5.0, 6.0].map(|value| expect(Metric::Oversold, op, value));
            assert_eq!(said, [below, at, above], "{op:?}");
        }
        for falling in [Metric::AcquireP99, Metric::Throughput] {
            assert_eq!(expect(falling, Op::Less, 6.0), None, "{falling:?}");
            assert_eq!(expect(falling, Op::Greater, 6.0), None, "{falling:?}");
        }
        // What was lost stays lost, though some of it may be made up for.
        assert_eq!(expect(Metric::LostUpdates, Op::Less, 6.0), Some(CheckResult::Failed));
        assert_eq!(expect(Metric::LostUpdates, Op::Greater, 6.0), None);
    }
}
