//! The hosts in one line.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::conditions::{of_host, why};
use super::parts::{columns, fitting};
use crate::console::app::{App, Hit};
use crate::console::text;
use lockstorm_data::model::{ReplicationRole, Target};
use lockstorm_run::{HostView, Snapshot};

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot) {
    let hosts = &snapshot.hosts;
    for (host, area) in hosts.iter().zip(columns(area, hosts.len())) {
        bare(frame, area, app, host);
    }
}

fn bare(frame: &mut Frame<'_>, area: Rect, app: &App, host: &HostView) {
    let theme = &app.theme;
    app.hits(area, Hit::Target(Target::Host(host.id)));
    let (symbol, word, style) = of_host(host, "UP", theme);
    let name = if area.width < 24 {
        format!(" {} ", host.id.0)
    } else {
        format!(" host {} ", host.id.0)
    };
    let mut parts = vec![vec![
        Span::styled(name, app.name_style(Target::Host(host.id))),
        Span::styled(format!(" {symbol}"), style),
    ]];
    let roles: Vec<String> = roles(host, true).collect();
    // The symbol says that it is up, and what it is says more.
    if roles.is_empty() || !host.conditions.is_up() {
        parts.push(vec![Span::styled(word, style)]);
    }
    parts.extend(why(&host.conditions).map(|why| vec![Span::raw(why)]));
    parts.extend(roles.into_iter().map(|role| vec![Span::raw(role)]));
    parts.extend(figures(host).into_iter().map(|figure| vec![Span::raw(figure)]));
    parts.push(vec![Span::styled(format!(":{}", host.port), theme.dim)]);
    frame.render_widget(fitting(parts, usize::from(area.width.saturating_sub(1)), " "), area);
}

/// The role of its replicated node, of its nodes in the cluster, and of its member of etcd; `is_short` where space is.
pub(super) fn roles(host: &HostView, is_short: bool) -> impl Iterator<Item = String> {
    let in_cluster = host.cluster_masters.map(|masters| match masters {
        0 => "cluster: replicas".to_owned(),
        1 => "cluster: master".to_owned(),
        _ => format!("cluster: {masters} masters"),
    });
    let in_etcd = host.leads_etcd.map(|leads| match (leads, is_short) {
        (true, _) => "etcd: leader".to_owned(),
        (false, true) => "etcd".to_owned(),
        (false, false) => "etcd: follower".to_owned(),
    });
    role(host, is_short).into_iter().chain(in_cluster).chain(in_etcd)
}

/// The role of its replicated node, and how far that is behind: `replica, 480 ms behind`; `old master, still grants`. In short:
/// `480 ms behind`; `old, grants ·`.
fn role(host: &HostView, is_short: bool) -> Option<String> {
    let role = host.role?;
    if let Some(old_master) = host.old_master {
        let words = match (old_master.still_grants, is_short) {
            (true, true) => "old, grants ·",
            (true, false) => "old master, still grants",
            (false, _) => "old master",
        };
        return Some(words.to_owned());
    }
    let replica = if is_short { "" } else { "replica, " };
    Some(match host.behind {
        Some(behind) if behind.stands_still => format!("{replica}cut off {}", text::age(behind.time)),
        Some(behind) if behind.time < Duration::from_secs(1) => {
            // Samples tell it no more exactly.
            format!("{replica}{} ms behind", behind.time.as_millis() / 10 * 10)
        }
        Some(behind) => format!("{replica}{} behind", text::age(behind.time)),
        None if matches!(role, ReplicationRole::Replica { connected: false, .. }) => format!("{replica}out of sync"),
        None => role.to_string(),
    })
}

/// The figures of its lock node, the most important first.
pub(super) fn figures(host: &HostView) -> Vec<String> {
    let Some(stats) = host.stats else {
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
