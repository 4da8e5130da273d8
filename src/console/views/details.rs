//! Everything that is known of one lock, or of one host or app server.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};

use super::briefing;
use super::conditions::{of_host, state, why};
use super::hosts::{figures, roles};
use super::parts::{dialog, tone_style};
use crate::console::app::App;
use crate::console::text;
use crate::console::theme::Theme;
use crate::report::{Arm, badge};
use lockstorm_data::facts::EventKind;
use lockstorm_data::metrics::units::{count, micros};
use lockstorm_data::metrics::{Group, Metric, Quantiles, Time};
use lockstorm_data::model::{Target, printable};
use lockstorm_run::{LastLock, Snapshot};

/// The columns of the names.
const NAMES: usize = 14;
/// How many events of a host or app server are shown.
const EVENTS: usize = 8;

/// The outcomes of acquires by name.
const OUTCOMES: [(&str, Time); 5] = [
    ("granted", Time::Acquired),
    ("busy", Time::Contended),
    ("no quorum", Time::NoQuorum),
    ("too late", Time::Expired),
    ("unknown", Time::Unknown),
];

/// The lock of the chosen row.
pub(super) fn render_lock(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let (scenario, theme) = (&snapshot.scenario, &app.theme);
    let arms = Arm::all_of_snapshot(snapshot);
    let (Some(arm), Some(spec), Some(view)) = (
        arms.get(app.arm),
        scenario.arms.get(app.arm),
        snapshot.arms.get(app.arm),
    ) else {
        return;
    };
    let of_arm = arm.figures;
    let mut lines = vec![
        fact("lock", briefing::words(spec), theme),
        styled(
            "verdict",
            arm.judged.word(&scenario.workload).to_owned(),
            tone_style(badge(arm.judged.outcome).0, theme),
            theme,
        ),
    ];
    let causes = arm.judged.causes.iter();
    let causes = causes.map(|cause| cause.words(&scenario.workload));
    lines.extend(named("why", causes, theme));
    let uses = match Metric::DoubleUses.is_known(of_arm) {
        true => count(of_arm.double_uses),
        false => "–".to_owned(),
    };
    let twice = format!("{} double holds, {uses} double uses", count(of_arm.double_holds));
    if arm.has(Group::Locks) && !app.knows_totals() {
        lines.push(fact("two at once", twice, theme));
        lines.push(fact("times, votes", "told at the end of the record".to_owned(), theme));
    } else if arm.has(Group::Locks) {
        let hold = of_arm.times[Time::Hold];
        let mut sections = format!("p50 {}  p99 {}", text::micros(hold.p50), text::micros(hold.p99));
        if spec.lock.has_ttl() {
            let ttl = snapshot.knobs.ttl.unwrap_or(spec.ttl).as_micros() as f64;
            let part = hold.p99 as f64 / ttl.max(1.0) * 100.0;
            sections = format!("{sections} ({part:.0} % of the TTL)");
        }
        lines.push(fact("sections", sections, theme));
        let votes = view.votes.map_or_else(String::new, |(votes, of)| {
            format!(" · last one by {votes} of {of} votes")
        });
        let held = format!(
            "{}, {} of them lack votes{votes}",
            count(of_arm.holding),
            count(of_arm.partial)
        );
        // Of another program's locks only that is known.
        if arm.has(Group::Reported) {
            lines.push(fact("two at once", twice, theme));
        } else {
            let explained = format!(
                "{} unexplained; {} lost votes and held",
                count(of_arm.law_violations),
                count(of_arm.covered)
            );
            lines.push(fact("held now", held, theme));
            lines.push(fact("two at once", format!("{twice}, {explained}"), theme));
        }
        lines.push(Line::default());
        let head = format!(
            "{:<NAMES$}{:>10}{:>10}{:>10}{:>10}",
            "acquires", "number", "p50", "p99", "max"
        );
        lines.push(Line::styled(head, theme.strong));
        let outcomes = OUTCOMES.iter().map(|(name, time)| (*name, of_arm.times[*time]));
        lines.extend(
            outcomes
                .chain([("the pipe", of_arm.pipe_us)])
                .filter(|(_, times)| times.count > 0)
                .map(|(name, times)| latency(name, &times)),
        );
        lines.extend(last_locks(&view.name, &view.last_locks, theme));
    }
    lines.push(Line::default());
    let consequences = of_arm.consequences.iter().map(|one| (one.at, one.kind.to_string()));
    let outages = of_arm.outages.iter().filter(|outage| outage.lasted_us >= 100_000);
    let outages = outages.map(|outage| {
        let at_least = if outage.over { "" } else { "≥ " };
        (
            outage.at,
            format!("unavailable for {at_least}{}", micros(outage.lasted_us)),
        )
    });
    let mut told: Vec<(f64, String)> = consequences.chain(outages).collect();
    told.sort_by(|one, other| one.0.total_cmp(&other.0));
    lines.extend(
        told.into_iter()
            .map(|(at, words)| Line::from(format!("{at:>6.1}  {words}"))),
    );
    show(frame, area, app, arm.name, lines);
}

/// The locks of this arm that were given back last, the newest first.
fn last_locks(arm: &str, last: &[LastLock], theme: &Theme) -> Vec<Line<'static>> {
    let head = (!last.is_empty()).then(|| {
        let head = format!(
            "{:<NAMES$}{:>10}{:>10}  {:<18}  votes (hosts)",
            "last locks", "granted", "held for", "key"
        );
        [Line::default(), Line::styled(head, theme.strong)]
    });
    let line = |LastLock { key, belief }: &LastLock| {
        let lasted = belief.until_us.unwrap_or(belief.from_us) - belief.from_us;
        let hosts: Vec<String> = belief.votes.iter().map(ToString::to_string).collect();
        let votes = match belief.nodes {
            0 => "on no node".to_owned(),
            // A client does not say which.
            nodes if hosts.is_empty() => format!("– of {nodes}"),
            nodes => format!("{} of {nodes} ({})", hosts.len(), hosts.join(", ")),
        };
        // The name of the arm stands in the title.
        let key = key.strip_prefix(&format!("{arm}:")).unwrap_or(key);
        let at = format!("{:.3} s", belief.from_us as f64 / 1e6);
        let (holder, key) = (belief.holder.to_string(), text::left(&printable(key), 18));
        let held = text::micros(u64::try_from(lasted).unwrap_or(0));
        Line::from(format!("{holder:<NAMES$}{at:>10}{held:>10}  {key}  {votes}"))
    };
    let lines = last.iter().rev().map(line);
    head.into_iter().flatten().chain(lines).collect()
}

/// The selected host or app server.
pub(super) fn render_target(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let theme = &app.theme;
    let target = app.selected;
    let found = match target {
        Target::Host(id) => {
            let host = snapshot.hosts.get(id.index());
            host.map(|host| (of_host(host, "up", theme), &host.conditions))
        }
        Target::Server(id) => {
            let server = snapshot.servers.get(id.index());
            server.map(|server| (state(&server.conditions, "up", theme), &server.conditions))
        }
        Target::Link(_) | Target::Client(_) => None,
    };
    let Some(((symbol, words, style), conditions)) = found else {
        return;
    };
    let why = why(conditions).unwrap_or_default();
    let mut lines = vec![styled("state", format!("{symbol} {words} {why}"), style, theme)];
    if let Target::Server(id) = target
        && let Some(clients) = snapshot
            .servers
            .get(id.index())
            .and_then(|server| server.clients.as_ref())
    {
        let (symbol, words, style) = state(clients, "up", theme);
        lines.push(styled("its clients", format!("{symbol} {words}"), style, theme));
    }
    if let Target::Host(id) = target
        && let Some(host) = snapshot.hosts.get(id.index())
    {
        lines.push(fact("lock node", format!("port {}", host.port), theme));
        lines.extend(named("roles", roles(host, false), theme));
        lines.extend(named("figures", figures(host).into_iter(), theme));
        let memory = host
            .stats
            .map(|stats| format!("{} kB in use", count(stats.used_memory / 1000)));
        lines.extend(named("memory", memory.into_iter(), theme));
        lines.extend(named("only node of", host.single_arms.iter().cloned(), theme));
    }
    let log = match target {
        Target::Host(id) => snapshot.hosts.get(id.index()).map(|host| &host.log),
        _ => None,
    };
    lines.push(Line::default());
    let its = |kind: &EventKind| match (kind, target) {
        (EventKind::Fault { target: of, .. }, Target::Server(id)) => [target, Target::Client(id)].contains(of),
        (EventKind::Fault { target: of, .. }, _) => *of == target,
        _ => false,
    };
    let events = snapshot
        .events
        .iter()
        .rev()
        .filter(|event| its(&event.kind))
        .take(EVENTS);
    lines.extend(events.map(|event| Line::from(format!("{:>6.1}  {}", event.at, event.text()))));
    if let Some(log) = log.filter(|log| !log.is_empty()) {
        let head = Line::styled("the last lines of its logs", theme.strong);
        lines.extend([Line::default(), head]);
        let columns = usize::from(area.width.saturating_sub(8).min(96));
        lines.extend(log.iter().map(|line| Line::from(text::fit(&printable(line), columns))));
    }
    show(frame, area, app, &target.to_string(), lines);
}

/// Shows lines in a window that scrolls.
pub(super) fn show(frame: &mut Frame<'_>, area: Rect, app: &App, title: &str, lines: Vec<Line<'static>>) {
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let width = area.width.saturating_sub(4).min(100);
    let inside = dialog(frame, area, [width, height], title, &app.theme);
    let most = lines.len().saturating_sub(usize::from(inside.height));
    app.scroll_most.set(most);
    let shown = lines.into_iter().skip(app.scroll.min(most));
    frame.render_widget(shown.collect::<Text<'_>>(), inside);
}

fn latency(name: &str, times: &Quantiles) -> Line<'static> {
    let [p50, p99, max] = [times.p50, times.p99, times.max].map(text::micros);
    Line::from(format!(
        "{name:<NAMES$}{:>10}{p50:>10}{p99:>10}{max:>10}",
        count(times.count)
    ))
}

fn fact(name: &'static str, words: String, theme: &Theme) -> Line<'static> {
    styled(name, words, theme.base, theme)
}

fn styled(name: &'static str, words: String, style: Style, theme: &Theme) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!("{name:<NAMES$}"), theme.dim),
        Span::styled(words, style),
    ])
}

/// Several facts under one name in a line; none without any.
fn named(name: &'static str, all: impl Iterator<Item = String>, theme: &Theme) -> Option<Line<'static>> {
    let words = all.collect::<Vec<_>>().join(" · ");
    (!words.is_empty()).then(|| fact(name, words, theme))
}
