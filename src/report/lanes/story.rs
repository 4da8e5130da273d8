//! What happened to one lock, in sentences in the order of their time.

use super::picture::micros;
use lockstorm_data::history::{Belief, DoubleHold, Ruling};
use lockstorm_data::metrics::units::{counted, micros as time};
use lockstorm_data::model::{Event, EventKind};

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
    let during = events.iter().filter_map(|event| match &event.kind {
        EventKind::Fault { effect_at, .. } => Some((micros(effect_at.unwrap_or(event.at)), event)),
        EventKind::Failover { .. } | EventKind::Demoted { .. } => Some((micros(event.at), event)),
        _ => None,
    });
    let during = during.filter(|(at, _)| (first.from_us..end).contains(at));
    lines.extend(during.map(|(at, event)| (at, event.text.clone())));
    lines.sort_by_key(|(at, _)| *at);
    lines
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
    format!(
        ": {} of {} by {hosts}",
        counted(belief.votes.len() as u64, "vote", "votes"),
        belief.nodes
    )
}

/// What it comes to: how long both believed, and whether it is known why.
pub(super) fn conclusion(double: &DoubleHold) -> Vec<String> {
    let (first, second) = (double.first.holder, double.second.holder);
    let long = double
        .overlap_us
        .map_or_else(|| "to the end".to_owned(), |us| format!("for {}", time(us)));
    let mut lines = vec![format!(
        "{first} and {second} both had reason to believe {long} that the lock was theirs alone."
    )];
    let (votes, lost) = (double.first.votes.len(), double.lost.len());
    let needed = double.first.nodes / 2 + 1;
    lines.extend(double.ruling.map(|ruling| match ruling {
        Ruling::Explained => format!(
            "Of the {} of {first} {} lost. That leaves {} of {} nodes free, and {needed} are enough for somebody else: the lock kept \
             its rule, and its nodes forgot.",
            counted(votes as u64, "vote", "votes"),
            if lost == 1 { "1 was".to_owned() } else { format!("{lost} were") },
            double.first.nodes.saturating_sub(votes - lost.min(votes)),
            double.first.nodes,
        ),
        Ruling::Unknown => format!("Nobody knows which of the votes of {first} were lost: a node did not answer, or {first} had left."),
        Ruling::Violation => format!(
            "Too few of the {} of {first} were lost ({lost}) to let somebody in: the lock, or a node, is broken.",
            counted(votes as u64, "vote", "votes")
        ),
    }));
    lines
}
