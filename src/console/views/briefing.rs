//! What a scenario is about: what will happen, what to look at, which keys, what is compared. A page of its own before a run and
//! while its lab starts, and a part of the picker.

use std::sync::LazyLock;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;

use super::parts::{boxed, padded};
use crate::console::app::App;
use crate::console::text;
use crate::console::theme::Theme;
use lockstorm_data::model::printable;
use lockstorm_data::scenario::{ArmSpec, Overrides, Scenario, Source, builtin, parse};

/// The built-in scenarios, read when the first is shown.
static BUILT_IN: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let read = |builtin: &builtin::Builtin| {
        let (name, text) = (builtin.name.to_owned(), builtin.text.to_owned());
        parse(&Source { name, text }, &Overrides::default()).ok()
    };
    builtin::ALL.iter().filter_map(read).collect()
});

/// The page. `starting` is what the run waits for; `None` while it waits for Enter.
pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, scenario: &Scenario, starting: Option<&str>) {
    let theme = &app.theme;
    let title = if starting.is_some() {
        " setting up "
    } else {
        " what you are going to see "
    };
    let inside = padded(boxed(frame, area, title, theme));
    let last = inside.rows().next_back().unwrap_or(inside);
    let page = Rect {
        height: inside.height.saturating_sub(2),
        ..inside
    };
    let lines = about(scenario, usize::from(page.width), theme);
    let most = lines.len().saturating_sub(usize::from(page.height));
    app.scroll_most.set(most);
    let scroll = u16::try_from(app.scroll.min(most)).unwrap_or(u16::MAX);
    frame.render_widget(Paragraph::new(lines).scroll((scroll, 0)), page);
    let (sign, words) = match starting {
        Some(what) => ("◌ ", format!("{what} …")),
        None if most > 0 => (
            "▶ ",
            "Enter starts · ↑ ↓ more of this · Esc: other scenarios".to_owned(),
        ),
        None => ("▶ ", "Enter starts · Esc: other scenarios".to_owned()),
    };
    let words = text::fit(&words, usize::from(last.width).saturating_sub(2));
    let line = vec![Span::styled(sign, theme.accent), Span::styled(words, theme.strong)];
    frame.render_widget(Line::from(line), last);
}

/// The same beside the list of scenarios, as much as fits.
pub(super) fn preview(frame: &mut Frame<'_>, area: Rect, app: &App, name: &str) {
    let inside = padded(boxed(frame, area, " what it shows ", &app.theme));
    if let Some(scenario) = BUILT_IN.iter().find(|scenario| scenario.name == name) {
        let lines = about(scenario, usize::from(inside.width), &app.theme);
        frame.render_widget(Text::from(lines), inside);
    }
}

fn about(scenario: &Scenario, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut page = Page {
        columns,
        lines: Vec::new(),
    };
    let takes = format!("{} · {}", text::setting(scenario.duration), scenario.name);
    page.add(0, &scenario.title, theme.strong);
    page.add(0, &takes, theme.dim);
    let mut paragraphs = scenario.about.lines();
    page.gap();
    page.add(0, paragraphs.next().unwrap_or_default(), theme.base);
    page.heading("What happens", theme);
    acts(scenario, &mut page, theme);
    for (heading, words) in [
        ("What to look at", &scenario.look_at),
        ("Keys to try", &scenario.to_try),
    ] {
        if let Some(words) = words {
            page.heading(heading, theme);
            page.add(2, &printable(words), theme.base);
        }
    }
    page.heading("What is compared", theme);
    let width = text::widest(scenario.arms.iter().map(|arm| arm.name.as_str())).min(24);
    for arm in &scenario.arms {
        page.add(
            2,
            &format!("{}: {}", text::fit(&arm.name, width), words(arm)),
            theme.base,
        );
    }
    for (index, line) in paragraphs.enumerate() {
        if index == 0 {
            page.heading("More", theme);
        }
        page.add(2, line, theme.dim);
    }
    page.lines
}

/// The acts, each with the key to try; of a scenario without acts what its faults do.
fn acts(scenario: &Scenario, page: &mut Page, theme: &Theme) {
    if scenario.faults.is_empty() {
        page.add(2, "Nothing breaks by itself: the keys are yours.", theme.base);
    }
    let has_acts = scenario.faults.iter().any(|fault| fault.title.is_some());
    for (number, fault) in (1..).zip(
        scenario
            .faults
            .iter()
            .filter(|fault| fault.title.is_some() || !has_acts),
    ) {
        let deed = fault.title.clone().unwrap_or_else(|| fault.deed());
        page.add(2, &format!("{number}. {deed}"), theme.base);
        if let Some(teaches) = &fault.teaches {
            page.add(5, &format!("try {teaches}"), theme.accent);
        }
    }
}

/// The lock of an arm and its TTL.
pub(super) fn words(arm: &ArmSpec) -> String {
    let label = arm.label();
    if !arm.lock.has_ttl() {
        return label;
    }
    let renewed = arm.renew.interval(arm.ttl);
    let renewed = renewed.map(|every| format!(", renewed every {}", text::setting(every)));
    format!("{label}, TTL {}{}", text::setting(arm.ttl), renewed.unwrap_or_default())
}

/// Lines of a width.
struct Page {
    columns: usize,
    lines: Vec<Line<'static>>,
}

impl Page {
    fn gap(&mut self) {
        self.lines.push(Line::default());
    }

    fn heading(&mut self, words: &'static str, theme: &Theme) {
        self.gap();
        self.lines.push(Line::styled(words, theme.accent));
    }

    /// Adds a text in as many lines as it needs, so far in.
    fn add(&mut self, indent: usize, words: &str, style: Style) {
        let lines = text::wrap(words, self.columns.saturating_sub(indent));
        let line = |line: String| Line::styled(format!("{:indent$}{line}", ""), style);
        self.lines.extend(lines.into_iter().map(line));
    }
}
