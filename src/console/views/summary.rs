//! After the end: what each arm did, in a sentence, and what became of the expectations.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Wrap};

use super::{Frames, mark_style, padded, panel, verdict};
use crate::console::app::App;
use crate::console::score::{Headline, Mark};
use crate::metrics::Snapshot;
use crate::model::Held;
use crate::run::sentence;

pub(super) fn render(
    frame: &mut Frame<'_>,
    area: Rect,
    app: &App,
    snapshot: &Snapshot,
    interrupted: bool,
    expectations: &[(Held, String)],
) {
    let theme = &app.theme;
    let scenario = &snapshot.scenario;
    let ended = if interrupted { "stopped" } else { "finished" };
    let title = format!(" {ended} after {:.0} s ", snapshot.elapsed.max(0.0));
    let inside = padded(panel(
        frame,
        area,
        Frames::Boxed,
        Line::styled(title, theme.strong),
        theme,
    ));
    let mut lines = vec![Line::styled(scenario.title.clone(), theme.strong), Line::default()];
    let headline = Headline::of(scenario);
    for (index, arm) in snapshot.arms.iter().enumerate() {
        let damage = app.damage.get(index).copied().unwrap_or_default();
        let mark = if damage.any() {
            Mark::Damage
        } else {
            headline.score(arm, &damage).mark
        };
        let said = sentence(&arm.name, &arm.figures, &scenario.workload, arm.sold_out);
        let words = said.strip_prefix(arm.name.as_str()).unwrap_or(&said).to_owned();
        lines.push(Line::from(vec![
            Span::styled(mark.symbol(), mark_style(mark, theme)),
            Span::styled(format!(" {}", arm.name), theme.strong),
            Span::raw(words),
        ]));
    }
    if !expectations.is_empty() {
        let held = expectations.iter().filter(|(held, _)| *held == Held::Yes).count();
        lines.push(Line::default());
        lines.push(Line::styled(
            format!("Expectations: {held} of {} held", expectations.len()),
            theme.accent,
        ));
    }
    for (held, words) in expectations {
        let (mark, style) = verdict(*held, theme);
        lines.push(Line::from(vec![
            Span::styled(mark, style),
            Span::raw(format!(" {words}")),
        ]));
    }
    let columns = usize::from(inside.width.max(1));
    // Wrapping at words may take a row more than this now and then, so one is added for each long line.
    let rows: usize = lines
        .iter()
        .map(|line| line.width().div_ceil(columns).max(1) + usize::from(line.width() > columns))
        .sum();
    let most = rows.saturating_sub(usize::from(inside.height));
    app.scroll_most.set(most);
    let scroll = u16::try_from(app.scroll.min(most)).unwrap_or(u16::MAX);
    frame.render_widget(
        Paragraph::new(Text::from(lines))
            .wrap(Wrap { trim: false })
            .scroll((scroll, 0)),
        inside,
    );
}
