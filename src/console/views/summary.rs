//! After the end: a sentence for each arm, the results of the expectations, and the table if there is room.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;

use super::arms;
use super::parts::{Frames, boxed, mark_style, padded, sign_of};
use crate::console::app::App;
use crate::console::score::{headline, is_damaged};
use crate::console::text;
use crate::report::{Arm, Mark, judge, sentence};
use lockstorm_data::model::CheckResult;
use lockstorm_data::scenario::Scenario;
use lockstorm_run::Snapshot;

pub(super) fn render(
    frame: &mut Frame<'_>,
    area: Rect,
    app: &App,
    snapshot: &Snapshot,
    interrupted: bool,
    expectations: &[(CheckResult, String)],
) {
    let theme = &app.theme;
    let scenario = &snapshot.scenario;
    let columns = usize::from(area.width).saturating_sub(4);
    let mut lines = vec![
        Line::styled(text::fit(&scenario.title, columns), theme.strong),
        Line::default(),
    ];
    let headline = headline(scenario);
    for (arm, spec) in Arm::all_of_snapshot(snapshot).iter().zip(&scenario.arms) {
        let mark = if is_damaged(arm.figures) {
            Mark::Damage
        } else if is_doubtful(scenario, expectations, arm.name) {
            Mark::Pending
        } else {
            judge(headline, arm)
        };
        let words = sentence(spec, arm.figures, &scenario.workload, arm.is_doubted);
        lines.extend(hanging(mark.symbol(), mark_style(mark, theme), &words, columns));
    }
    let missing = snapshot.partial.iter().map(|missing| format!("partial: {missing}"));
    let doubts = snapshot.arms.iter().filter_map(|arm| arm.doubt.as_deref());
    let mut doubts: Vec<&str> = doubts
        .filter(|doubt| !snapshot.partial.iter().any(|missing| missing == doubt))
        .collect();
    doubts.dedup();
    let doubts = doubts.into_iter().map(|doubt| format!("inconclusive: {doubt}"));
    for words in missing.chain(doubts) {
        let (mark, style) = sign_of(CheckResult::Inconclusive, theme);
        lines.extend(hanging(mark, style, &words, columns));
    }
    if !expectations.is_empty() {
        let title = format!("Expectations: {}", tally(expectations));
        lines.extend([Line::default(), Line::styled(title, theme.accent)]);
    }
    for (held, words) in expectations {
        let (mark, style) = sign_of(*held, theme);
        lines.extend(hanging(mark, style, words, columns));
    }

    let rows = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let table = u16::try_from(snapshot.arms.len() + 3).unwrap_or(u16::MAX);
    let has_table = rows.saturating_add(table) <= area.height;
    let heights = [
        Constraint::Min(0),
        Constraint::Length(if has_table { table } else { 0 }),
    ];
    let [text_area, table_area] = Layout::vertical(heights).areas(area);
    let ended = if interrupted { "stopped" } else { "finished" };
    let title = format!(" {ended} after {} ", text::seconds(snapshot.elapsed));
    let inside = padded(boxed(frame, text_area, &title, theme));
    let most = lines.len().saturating_sub(usize::from(inside.height));
    app.scroll_most.set(most);
    let scroll = u16::try_from(app.scroll.min(most)).unwrap_or(u16::MAX);
    frame.render_widget(Paragraph::new(Text::from(lines)).scroll((scroll, 0)), inside);
    if let Some(last) = area.rows().next_back().filter(|_| most > 0) {
        frame.render_widget(Line::styled("↑ ↓ scroll ", theme.dim).right_aligned(), padded(last));
    }
    if has_table {
        arms::render(frame, table_area, Frames::Boxed, app, snapshot);
    }
}

/// Whether an expectation about the arm could not show. Then its figures are not praised.
fn is_doubtful(scenario: &Scenario, expectations: &[(CheckResult, String)], arm: &str) -> bool {
    let mut all = scenario.expect.iter().zip(expectations);
    all.any(|(expected, (held, _))| expected.arm == arm && *held == CheckResult::Inconclusive)
}

/// How many held, failed, and were inconclusive: `1 held, 2 inconclusive`.
fn tally(expectations: &[(CheckResult, String)]) -> String {
    let words = [
        (CheckResult::Held, "held"),
        (CheckResult::Failed, "failed"),
        (CheckResult::Inconclusive, "inconclusive"),
    ];
    let parts = words.into_iter().filter_map(|(result, word)| {
        let count = expectations.iter().filter(|(held, _)| *held == result).count();
        (count > 0).then(|| format!("{count} {word}"))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Text after a symbol, wrapped beside it.
fn hanging<'a>(sign: &'a str, style: Style, words: &str, columns: usize) -> Vec<Line<'a>> {
    let wrapped = text::wrap(words, columns.saturating_sub(2)).into_iter().enumerate();
    let line = |(index, words)| {
        let sign = if index == 0 { sign } else { " " };
        Line::from(vec![Span::styled(sign, style), Span::raw(format!(" {words}"))])
    };
    wrapped.map(line).collect()
}
