//! Before the load starts: what the run waits for, and what it will show.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::parts::{boxed, padded};
use crate::console::app::App;
use crate::console::text;
use lockstorm_data::model::{Target, Targets};
use lockstorm_data::scenario::{ArmSpec, FaultSpec, FaultStart, Scenario};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, what: &str) {
    let theme = &app.theme;
    let Some(scenario) = app.scenario.as_deref() else {
        return;
    };
    let inside = padded(boxed(frame, area, " setting up ", theme));
    let columns = usize::from(inside.width);
    let mut lines = vec![
        Line::styled(text::fit(&scenario.title, columns), theme.strong),
        Line::default(),
        Line::from(vec![
            Span::styled("◌ ", theme.accent),
            Span::raw(text::fit(&format!("{what} …"), columns)),
        ]),
        Line::default(),
        Line::styled("What will be compared", theme.accent),
    ];
    let name_width = text::widest(scenario.arms.iter().map(|arm| arm.name.as_str())).min(24);
    for arm in &scenario.arms {
        let name = Span::styled(format!("  {}  ", text::left(&arm.name, name_width)), theme.strong);
        lines.push(Line::from(vec![name, Span::raw(words(arm))]));
    }
    lines.push(Line::default());
    lines.push(Line::styled("What will break", theme.accent));
    if scenario.faults.is_empty() {
        lines.push(Line::from("  nothing by itself: use the keys to break things"));
    }
    for fault in &scenario.faults {
        let words = format!("  {}", describe(scenario, fault));
        lines.push(Line::from(text::fit(&words, columns)));
    }
    frame.render_widget(Text::from(lines), inside);
}

/// The lock of an arm and its TTL.
pub(super) fn words(arm: &ArmSpec) -> String {
    let label = arm.label();
    if !arm.lock.uses_nodes() {
        return label;
    }
    let renewed = arm
        .renew
        .interval(arm.ttl)
        .map(|every| format!(", renewed every {}", text::setting(every)));
    format!("{label}, TTL {}{}", text::setting(arm.ttl), renewed.unwrap_or_default())
}

const fn is_host(target: &Target) -> bool {
    matches!(target, Target::Host(_))
}

fn describe(scenario: &Scenario, fault: &FaultSpec) -> String {
    let start = match &fault.start {
        FaultStart::At(at) => format!("at {}", text::setting(*at)),
        FaultStart::When(condition) => format!("when {}", condition.text),
        FaultStart::After(number, wait) if wait.is_zero() => format!("after fault {number}"),
        FaultStart::After(number, wait) => format!("{} after fault {number}", text::setting(*wait)),
    };
    let deed = match &fault.targets {
        Targets::Named(all) if all.len() > 1 && all.len() == scenario.lab.hosts && all.iter().all(is_host) => {
            fault.action.on("all hosts")
        }
        Targets::Named(named) => {
            let names: Vec<_> = named.iter().map(ToString::to_string).collect();
            fault.action.on(names.join(", "))
        }
        Targets::By(_) => fault.deed(),
    };
    let lasts = fault
        .lasts
        .map(|lasts| format!(" for {}", text::setting(lasts)))
        .unwrap_or_default();
    format!("{start}: {deed}{lasts}")
}
