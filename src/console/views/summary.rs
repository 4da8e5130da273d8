//! After the end: the verdict on each lock, what happened, and the predictions that did not hold.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;

use super::parts::{boxed, padded, sign_of, tone_style};
use crate::console::app::App;
use crate::console::text;
use crate::report::{Arm, conclusion, counted, happened, legend, lesson, tally, verdicts};
use lockstorm_data::model::CheckResult;
use lockstorm_run::Snapshot;

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot, interrupted: bool) {
    let theme = &app.theme;
    let (scenario, judged) = (&snapshot.scenario, snapshot.judge());
    let expectations = &judged.expectations;
    let columns = usize::from(area.width).saturating_sub(4);
    let mut lines = vec![
        Line::styled(text::fit(&scenario.title, columns), theme.strong),
        Line::default(),
    ];
    let arms = Arm::all_of_snapshot(snapshot);
    let verdicts = verdicts(scenario, &arms, counted(scenario), columns);
    let legend = legend(&verdicts, &arms, &scenario.workload);
    for cells in verdicts.lines() {
        let parts = cells
            .into_iter()
            .map(|cell| Span::styled(cell.text, tone_style(cell.tone, theme)));
        lines.push(Line::from(parts.collect::<Vec<_>>()));
    }
    lines.extend(
        text::wrap(&legend, columns)
            .into_iter()
            .map(|line| Line::styled(line, theme.dim)),
    );
    if let Some(said) = conclusion(scenario, &arms, &snapshot.events) {
        lines.push(Line::default());
        lines.extend(hanging("▸", theme.accent, &said, columns, theme.strong));
    }
    let lesson = lesson(scenario, expectations.iter().map(|checked| checked.result));
    lines.extend(
        lesson
            .into_iter()
            .flat_map(|lesson| hanging("▸", theme.accent, lesson, columns, theme.strong)),
    );
    let missing = snapshot.partial.iter().map(|missing| format!("partial: {missing}"));
    let doubts = judged
        .inconclusive
        .iter()
        .filter(|doubt| !snapshot.partial.contains(doubt));
    let doubts = doubts.map(|doubt| format!("inconclusive: {doubt}"));
    for words in missing.chain(doubts) {
        let (mark, style) = sign_of(CheckResult::Inconclusive, theme);
        lines.extend(hanging(mark, style, &words, columns, theme.base));
    }
    if let Some((tone, words)) = tally(expectations.iter().map(|checked| checked.result)) {
        let more = Span::styled("   e lists them", theme.dim);
        let tally = Line::from(vec![Span::styled(words, tone_style(tone, theme)), more]);
        lines.extend([Line::default(), tally]);
    }
    for checked in expectations
        .iter()
        .filter(|checked| checked.result != CheckResult::Held)
    {
        let (mark, style) = sign_of(checked.result, theme);
        lines.extend(hanging(mark, style, &checked.to_string(), columns, theme.base));
    }

    lines.extend([Line::default(), Line::styled("What happened", theme.accent)]);
    for (at, tone, words) in happened(&snapshot.events, &arms, &scenario.workload) {
        let head = format!("{at:>6.1} ");
        lines.extend(hanging(&head, theme.dim, &words, columns, tone_style(tone, theme)));
    }
    let ended = if interrupted { "stopped" } else { "finished" };
    let title = format!(" {ended} after {} ", text::seconds(snapshot.elapsed));
    let inside = padded(boxed(frame, area, &title, theme));
    let most = lines.len().saturating_sub(usize::from(inside.height));
    app.scroll_most.set(most);
    let scroll = u16::try_from(app.scroll.min(most)).unwrap_or(u16::MAX);
    frame.render_widget(Paragraph::new(Text::from(lines)).scroll((scroll, 0)), inside);
    if let Some(last) = area.rows().next_back().filter(|_| most > 0) {
        frame.render_widget(Line::styled("↑ ↓ scroll ", theme.dim).right_aligned(), padded(last));
    }
}

/// Text after a head, wrapped beside it.
fn hanging(head: &str, of_head: Style, words: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    let indent = text::width(head) + 1;
    let wrapped = text::wrap(words, columns.saturating_sub(indent))
        .into_iter()
        .enumerate();
    let line = |(index, words): (usize, String)| {
        let head = if index == 0 {
            format!("{head} ")
        } else {
            " ".repeat(indent)
        };
        Line::from(vec![Span::styled(head, of_head), Span::styled(words, style)])
    };
    wrapped.map(line).collect()
}
