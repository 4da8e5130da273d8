//! Which part of the sections so far would outlast their lock with other TTLs.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};

use super::parts::dialog;
use super::visible_rows::VisibleRows;
use crate::console::app::App;
use crate::console::text;
use crate::console::ttls::{TtlArm, arms, place_of_charted, words};
use lockstorm_data::metrics::units::place;
use lockstorm_run::Part;

/// The columns of the TTLs.
const TTL: usize = 8;
/// The columns of a part, with its mark.
const PART: usize = 12;
/// The shortest and the longest bar.
const BAR: [usize; 2] = [4, 20];
/// The most TTLs that are shown.
const MOST: usize = 13;
/// Marks the present TTL.
const NOW: &str = "◆";

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let Some(snapshot) = app.picture() else { return };
    // The order to turn the knob counts at once.
    let arms = arms(snapshot, app.knobs.values(snapshot).ttl);
    let width = area.width.saturating_sub(4).min(100);
    let inner = usize::from(width).saturating_sub(4);
    let fit = inner.saturating_sub(TTL) / (PART + 1);
    let shown = VisibleRows::of(arms.len(), fit.max(1), place_of_charted(snapshot, app.arm, &arms)).shown;
    let hidden = arms.len() - shown.len();
    let arms = &arms[shown];
    let column = (inner.saturating_sub(TTL) / arms.len().max(1)).min(PART + BAR[1] + 1);
    let bar = column.saturating_sub(PART + 1);
    let notes = notes(arms, hidden, inner);
    let ttls = listed(arms, usize::from(area.height).saturating_sub(notes.len() + 4).min(MOST));
    let height = u16::try_from(ttls.len().max(1) + notes.len() + 4).unwrap_or(u16::MAX);
    let title = "TTLs: sections that would outlast them";
    let inside = dialog(frame, area, [width, height], title, theme);
    let head = |of: &dyn Fn(&TtlArm<'_>) -> String, style: Style, first: &str| {
        let mut spans = vec![Span::raw(format!("{first:<TTL$}"))];
        spans.extend(arms.iter().map(|arm| {
            let text = text::fit(&of(arm), column.saturating_sub(2));
            Span::styled(format!(" {}", text::left(&text, column.saturating_sub(1))), style)
        }));
        Line::from(spans)
    };
    let sections = |arm: &TtlArm<'_>| format!("of {}", text::count(arm.view.outlasted.sections));
    let mut lines = vec![
        head(&|arm| arm.view.name.clone(), theme.strong, "TTL"),
        head(&sections, theme.dim, ""),
    ];
    for ttl in &ttls {
        let mut spans = vec![Span::raw(format!("{:<TTL$}", text::setting(*ttl)))];
        for arm in arms {
            let part = arm.view.outlasted.part(*ttl);
            let (mark, style) = if arm.ttl == *ttl {
                (NOW, theme.strong)
            } else {
                (" ", theme.base)
            };
            spans.push(Span::styled(mark, theme.accent));
            spans.push(Span::styled(text::left(&words(part), PART - 1), style));
            spans.push(Span::styled(drawn(part, bar), theme.p50));
        }
        lines.push(Line::from(spans));
    }
    lines.extend(notes.into_iter().map(|note| Line::styled(note, theme.dim)));
    frame.render_widget(Text::from(lines), inside);
}

/// At most `most` of the TTLs, those around the present ones; more of the shorter ones, which sections may outlast.
fn listed(arms: &[TtlArm<'_>], most: usize) -> Vec<Duration> {
    let known = arms.iter().map(|arm| &arm.view.outlasted.by_ttl);
    let known = known.max_by_key(|by_ttl| by_ttl.len());
    let all: Vec<Duration> = known.into_iter().flatten().map(|(ttl, _)| *ttl).collect();
    let place = |ttl: Option<Duration>| all.iter().position(|known| Some(*known) == ttl).unwrap_or(0);
    let present = || arms.iter().map(|arm| arm.ttl);
    let [first, last] = [present().min(), present().max()].map(place);
    let start = usize::midpoint(first, last)
        .saturating_sub(most * 2 / 3)
        .min(all.len().saturating_sub(most));
    all.into_iter().skip(start).take(most).collect()
}

/// A bar, with a gap behind it.
fn drawn(part: Option<Part>, most: usize) -> String {
    if most < BAR[0] {
        return " ".repeat(most + 1);
    }
    let share = match part {
        Some(Part::About(share)) => share,
        Some(Part::Below(_)) | None => 0.0,
    };
    let cells = place(share * most as f64);
    format!("{:<width$}", "█".repeat(cells), width = most + 1)
}

/// What the figures mean.
fn notes(arms: &[TtlArm<'_>], hidden: usize, columns: usize) -> Vec<String> {
    let mut notes = vec![format!(
        "{NOW} the present TTL: t and T turn it. Of the sections so far, from the attempt that got the lock to the release, without renewal; a lock covers its TTL less 1 % and 2 ms."
    )];
    let renewed = arms.iter().filter(|arm| arm.renews());
    let renewed: Vec<&str> = renewed.map(|arm| arm.view.name.as_str()).collect();
    if !renewed.is_empty() {
        let names = renewed.join(", ");
        notes.push(format!(
            "Renewed, so that sections may be longer than the TTL: {names}."
        ));
    }
    if arms.iter().all(|arm| arm.view.outlasted.sections == 0) {
        notes.push("No section of the measured part has ended yet.".to_owned());
    }
    if hidden > 0 {
        notes.push(format!("{hidden} more: Tab goes there."));
    }
    notes.iter().flat_map(|note| text::wrap(note, columns)).collect()
}
