//! What happened to one lock, in sentences in the order of their time.

use super::picture::micros;
use lockstorm_data::history::{Belief, BeliefSale, DoubleHold, Ruling};
use lockstorm_data::metrics::units::{counted, micros as time};
use lockstorm_data::model::{Action, Event, EventKind};

/// A moment, in microseconds since second 0, and what happened then.
pub(super) type Line = (i64, String);

/// The moments of a double hold in a run with these events.
pub(super) fn lines(double: &DoubleHold, events: &[Event]) -> Vec<Line> {
    let (first, second) = (&double.first, &double.second);
    let mut lines = vec![
        (
            first.from_us,
            format!("{} holds the lock{}", first.holder, votes(first)),
        ),
        (
            second.from_us,
            format!("{} holds it too{}", second.holder, votes(second)),
        ),
    ];
    for belief in [first, second] {
        let holder = belief.holder;
        let sold = |sale: BeliefSale| {
            let (read, left) = (sale.left + 1, sale.left);
            (
                sale.at_us,
                format!("{holder} sells a unit: it had read {read} and writes {left}"),
            )
        };
        lines.extend(belief.sale.map(sold));
        if let Some(left) = belief.until_us {
            lines.push((left, format!("{holder} has done its work and releases it")));
        }
        let over = belief
            .relied_until_us
            .filter(|over| belief.until_us.is_none_or(|left| *over < left));
        lines.extend(over.map(|over| (over, format!("{holder} can rely on it no longer, and goes on"))));
    }
    let end = first
        .until_us
        .into_iter()
        .chain(second.until_us)
        .max()
        .unwrap_or(i64::MAX);
    let during = events
        .iter()
        .filter_map(told)
        .filter(|(at, _)| (first.from_us..end).contains(at));
    lines.extend(during);
    lines.sort_by_key(|(at, _)| *at);
    lines
}

/// What happened to a host, and when, without what it meant for others and how it was proved.
fn told(event: &Event) -> Option<Line> {
    let text = event.text.split([':', ';', '(']).next().unwrap_or_default().trim_end();
    match &event.kind {
        // Who comes back may grant before that is proved.
        EventKind::Fault {
            action: Action::Undo(_),
            effect_at: Some(effect),
            ..
        } => Some((
            micros(event.at),
            format!("{text} (ordered now, proved at {effect:.3} s)"),
        )),
        EventKind::Fault { effect_at, .. } => Some((micros(effect_at.unwrap_or(event.at)), text.to_owned())),
        EventKind::Failover { .. } | EventKind::Demoted { .. } => Some((micros(event.at), text.to_owned())),
        _ => None,
    }
}

fn votes(belief: &Belief) -> String {
    if belief.nodes == 0 {
        return ", which is on no node".to_owned();
    }
    let hosts: Vec<String> = belief.votes.iter().map(ToString::to_string).collect();
    let hosts = match hosts.len() {
        1 => format!("host {}", hosts[0]),
        _ => format!("hosts {}", hosts.join(", ")),
    };
    let valid = belief.relied_until_us.map_or_else(String::new, |until| {
        format!(", valid until {:.3} s", until as f64 / 1e6)
    });
    let votes = counted(belief.votes.len() as u64, "vote", "votes");
    format!("{valid}: {votes} of {} by {hosts}", belief.nodes)
}

/// What it comes to: how long both believed, and whether it is known why.
pub(super) fn conclusion(double: &DoubleHold) -> Vec<String> {
    let (first, second) = (double.first.holder, double.second.holder);
    let long = double
        .overlap_us
        .map_or_else(|| "to the end".to_owned(), |us| format!("for {}", time(us)));
    let [one, other] = [first, second].map(|one| format!("{one} (worker {} of app server {})", one.worker, one.server));
    let mut lines = vec![format!(
        "{one} and {other} both had reason to believe {long} that the lock was theirs alone."
    )];
    lines.extend(double.ruling.map(|ruling| why(ruling, double)));
    if let (Some(one), Some(other)) = (double.first.sale, double.second.sale)
        && one.left == other.left
    {
        lines.push(format!(
            "Damage: both read {} units and wrote {}, so one of the two sales is lost.",
            one.left + 1,
            one.left
        ));
    }
    lines
}

fn why(ruling: Ruling, double: &DoubleHold) -> String {
    let Belief {
        holder, votes, nodes, ..
    } = &double.first;
    let forgot: Vec<String> = double
        .lost
        .iter()
        .filter_map(|lost| lost.host)
        .map(|host| format!("host {host}"))
        .collect();
    let (forgot, had) = (forgot.join(" and "), counted(votes.len() as u64, "vote", "votes"));
    let left = votes.len().saturating_sub(double.lost.len());
    match ruling {
        Ruling::Explained if *nodes == 1 => {
            format!(
                "Why: {forgot} had forgotten the key of {holder}, and no other node knew it. The lock kept its rule; its node forgot."
            )
        }
        Ruling::Explained => format!(
            "Why: {holder} had {had} of {nodes}, and {forgot} forgot. With {left} left, {} nodes could vote for somebody else, and {} are \
             enough. The lock kept its rule; its nodes forgot.",
            nodes - left,
            nodes / 2 + 1
        ),
        Ruling::Unknown => format!(
            "Nobody knows why: a node did not say which keys it had lost, or {holder} had left when it was asked."
        ),
        Ruling::Violation => format!(
            "Nothing explains it: {holder} had {had} of {nodes}, and {left} of them should have kept others out. The lock, or a node, is \
             broken."
        ),
    }
}
