//! The hosts: a box each if there is room, otherwise one line for all.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType};

use super::conditions::{symbol_and_words, why};
use super::{columns, fitting};
use crate::console::app::App;
use crate::console::text;
use crate::console::theme::Theme;
use crate::model::Target;
use crate::run::{HostView, Snapshot};

/// The smallest width of a box.
const BOX: u16 = 24;

/// The rows that the panel needs.
pub(super) fn height(width: u16, hosts: usize, roomy: bool) -> u16 {
    if roomy && hosts <= usize::from(width / BOX) {
        3
    } else {
        1
    }
}

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let hosts = &snapshot.hosts;
    for (host, area) in hosts.iter().zip(columns(area, hosts.len())) {
        let selected = app.selected == Target::Host(host.id);
        if area.height >= 3 {
            boxed(frame, area, app, host, selected);
        } else {
            bare(frame, area, app, host, selected);
        }
    }
}

fn boxed(frame: &mut Frame<'_>, area: Rect, app: &App, host: &HostView, selected: bool) {
    let theme = &app.theme;
    let (border, kind) = if selected {
        (theme.accent, BorderType::Thick)
    } else {
        (theme.dim, BorderType::Plain)
    };
    let number = if app.digits_pick_servers {
        String::new()
    } else {
        format!("[{}] ", host.id.0)
    };
    let name = format!(" {number}{} ", host.id);
    let room = usize::from(area.width).saturating_sub(text::width(&name) + 4);
    let mut title = vec![Span::styled(name, if selected { theme.selected } else { theme.strong })];
    if !host.single_arms.is_empty() {
        title.push(Span::styled(
            text::fit(&format!(" under {} ", host.single_arms.join(", ")), room),
            theme.dim,
        ));
    }
    let block = Block::bordered()
        .border_type(kind)
        .border_style(border)
        .title(Line::from(title));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let (symbol, word, style) = state(host, theme);
    let mut parts = vec![vec![Span::styled(format!("{symbol} {word}"), style)]];
    parts.extend(why(&host.conditions).map(|why| vec![Span::raw(why)]));
    parts.extend(host.role.map(|role| vec![Span::raw(role.to_string())]));
    let mut figures = figures(host).into_iter().map(|figure| vec![Span::raw(figure)]);
    parts.extend(figures.by_ref().take(2));
    parts.push(vec![Span::styled(format!(":{}", host.port), theme.dim)]);
    parts.extend(figures);
    frame.render_widget(fitting(parts, usize::from(inside.width), " "), inside);
}

fn bare(frame: &mut Frame<'_>, area: Rect, app: &App, host: &HostView, selected: bool) {
    let theme = &app.theme;
    let (symbol, word, style) = state(host, theme);
    let name = if area.width < 24 {
        format!(" {} ", host.id.0)
    } else {
        format!(" host {} ", host.id.0)
    };
    let mut parts = vec![vec![
        Span::styled(name, if selected { theme.selected } else { theme.strong }),
        Span::styled(format!(" {symbol}"), style),
    ]];
    parts.push(vec![Span::styled(word, style)]);
    parts.extend(why(&host.conditions).map(|why| vec![Span::raw(why)]));
    parts.extend(host.role.map(|role| vec![Span::raw(role.to_string())]));
    parts.extend(figures(host).into_iter().map(|figure| vec![Span::raw(figure)]));
    frame.render_widget(fitting(parts, usize::from(area.width.saturating_sub(1)), " "), area);
}

/// Symbol, words and style of its state.
pub(super) fn state(host: &HostView, theme: &Theme) -> (&'static str, String, Style) {
    let Some((symbol, words)) = symbol_and_words(&host.conditions) else {
        return ("●", "UP".to_owned(), theme.good);
    };
    (symbol, words, theme.warn)
}

/// The figures of its lock node, the most important first.
fn figures(host: &HostView) -> Vec<String> {
    let Some(stats) = host.stats.filter(|_| host.conditions.answers()) else {
        return Vec::new();
    };
    let ping = u64::try_from(stats.ping.as_micros()).unwrap_or(u64::MAX);
    let keys = if stats.keys == 1 { "key" } else { "keys" };
    vec![
        format!("{} ops/s", text::count(stats.ops_per_sec)),
        format!("ping {}", text::micros(ping)),
        format!("{} {keys}", text::count(stats.keys)),
    ]
}
