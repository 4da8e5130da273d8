//! What happened to one lock, in sentences in the order of their time.

use super::picture::micros;
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::history::{Belief, BeliefSale, DoubleHold, Removal, Ruling};
use lockstorm_data::metrics::units::{counted, micros as time};
use lockstorm_data::model::Action;

/// A moment, in microseconds since second 0, and what happened then.
pub(super) type Line = (i64, String);

/// The moments of a double hold in a run with these events.
pub(super) fn lines(double: &DoubleHold, events: &[Event]) -> Vec<Line> {
    let (first, second) = (&double.first, &double.second);
    let mut lines = vec![
        (first.from_us, format!("{} holds the lock{}", first.who(), votes(first))),
        (
            second.from_us,
            format!("{} holds it too{}", second.who(), votes(second)),
        ),
    ];
    for belief in [first, second] {
        let holder = belief.who();
        let sold = |sale: BeliefSale| {
            let (read, left) = (sale.left.saturating_add(1), sale.left);
            (
                sale.at_us,
                format!("{holder} sells a unit: it had read {read} and writes {left}"),
            )
        };
        lines.extend(belief.sale.map(sold));
        if let Some(left) = belief.until_us {
            let words = match belief.name {
                Some(_) => "gives it back, or has no reason to rely on it any more",
                None => "has done its work and releases it",
            };
            lines.push((left, format!("{holder} {words}")));
        }
        let over = belief
            .relied_until_us
            .filter(|over| belief.until_us.is_none_or(|left| *over < left));
        lines.extend(over.map(|over| (over, format!("{holder} can rely on it no longer, and goes on"))));
    }
    lines.extend(double.removed_by.as_ref().map(|removal| {
        let words = format!("{} releases, late, and is answered that it had the lock", removal.who());
        (removal.at_us, words)
    }));
    let end = first
        .until_us
        .into_iter()
        .chain(second.until_us)
        .max()
        .unwrap_or(i64::MAX);
    let matters =
        |event: &&Event| (first.from_us..end).contains(&micros(event.at)) || lasts(event, events, first.from_us);
    lines.extend(events.iter().filter(matters).filter_map(told));
    lines.sort_by_key(|(at, _)| *at);
    lines
}

/// Whether it is a fault that began before `at` and had not ended then.
fn lasts(event: &Event, events: &[Event], at: i64) -> bool {
    let begun =
        |event: &Event| matches!(event.kind, EventKind::Fault { effect_at: Some(effect), .. } if micros(effect) < at);
    let is_end = |other: &Event| matches!(other.kind, EventKind::Fault { ends: Some(id), .. } if id == event.id);
    let is_fault =
        matches!(event.kind, EventKind::Fault { action: Action::Fault(fault), .. } if fault.brings().is_some());
    is_fault && begun(event) && !events.iter().any(|other| is_end(other) && begun(other))
}

/// What happened to a host, and when, without what it meant for others and how it was proved.
fn told(event: &Event) -> Option<Line> {
    let text = event.headline();
    match &event.kind {
        // Who comes back may grant before that is proved.
        EventKind::Fault {
            action: Action::Undo(_),
            effect_at: Some(effect),
            ..
        } => Some((
            micros(event.at),
            format!("{text} (ordered then, and seen to answer at {effect:.3} s)"),
        )),
        EventKind::Fault { effect_at, .. } => Some((micros(effect_at.unwrap_or(event.at)), text)),
        EventKind::Failover { .. } | EventKind::Demoted { .. } | EventKind::Leader { .. } => {
            Some((micros(event.at), text))
        }
        _ => None,
    }
}

fn votes(belief: &Belief) -> String {
    match belief.nodes {
        // Where it is was not reported.
        0 if belief.name.is_some() => return String::new(),
        0 => return ", which is on no node".to_owned(),
        1 if belief.votes.is_empty() => return ", which is on one node".to_owned(),
        // A client does not say which of its nodes voted.
        nodes if belief.votes.is_empty() => return format!(", on most of {nodes} nodes"),
        _ => {}
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
/// `has_replicas`: whether the lock is on a master whose replicas may take its place.
pub(super) fn conclusion(double: &DoubleHold, has_replicas: bool) -> Vec<String> {
    let long = double
        .overlap_us
        .map_or_else(|| "to the end".to_owned(), |us| format!("for {}", time(us)));
    let [one, other] = [&double.first, &double.second].map(|one| match one.name {
        Some(_) => one.who(),
        None => format!(
            "{} (worker {} of app server {})",
            one.holder, one.holder.worker, one.holder.server
        ),
    });
    let mut lines = vec![format!(
        "{one} and {other} both had reason to believe {long} that the lock was theirs alone."
    )];
    lines.extend(double.ruling.map(|ruling| why(ruling, double, has_replicas)));
    lines.extend(double.removed_by.as_ref().map(removal_of));
    if let (Some(one), Some(other)) = (double.first.sale, double.second.sale) {
        let ((earlier, _), (later, buyer)) = match one.at_us <= other.at_us {
            true => ((one, double.first.holder), (other, double.second.holder)),
            false => ((other, double.second.holder), (one, double.first.holder)),
        };
        lines.push(match later.left < earlier.left {
            true => format!("No damage here: {buyer} read the stock after the other had written it."),
            false => format!(
                "Damage: {buyer} had read the stock before the other wrote {}, and wrote {} over it. A sale is lost.",
                earlier.left, later.left
            ),
        });
    }
    lines
}

/// Who has removed the first one's key.
fn removal_of(removal: &Removal) -> String {
    format!(
        "Who: {} released at {:.3} s, when the lock was not its own any more, and the next one got it: that release has most likely removed \
         the key of the holder. Compare the token before deleting a key.",
        removal.who(),
        removal.at_us as f64 / 1e6
    )
}

fn why(ruling: Ruling, double: &DoubleHold, has_replicas: bool) -> String {
    match ruling {
        Ruling::Expired => {
            return format!(
                "Why: the TTL of {0} was over, from its acquire or its last extension, and this client does not say until when a lock is \
                 valid, so {0} heard nothing of it. The lock did what it promises: renew it, or choose a TTL that is longer than the work.",
                double.first.who()
            );
        }
        Ruling::Deleted => {
            return "Why: its key was deleted from outside: its node ran FLUSHALL, FLUSHDB or SWAPDB, which no lock of this program sends. \
                    The lock is not to blame."
                .to_owned();
        }
        Ruling::Explained | Ruling::Unknown | Ruling::Violation => {}
    }
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
    let new_master = double.lost.iter().find_map(|lost| lost.new_master);
    let old_master = double.lost.iter().find_map(|lost| lost.old_master);
    if votes.is_empty() {
        let (lost, what) = match nodes {
            1 if has_replicas => (
                "its master has lost all keys, or was replaced by one without them",
                "that",
            ),
            1 => ("its node has lost all keys", "one node that forgets"),
            _ => ("most of its nodes have lost all keys", "so many nodes that forget"),
        };
        return match ruling {
            Ruling::Explained => {
                format!("Why: {lost}. The lock did what it promises; this set-up can't survive {what}.")
            }
            Ruling::Unknown if double.lost.is_empty() && double.first.relied_until_us.is_none() => {
                "The cause is not known: nodes may have lost the key, or the TTL may have been over: a client says neither which nodes had voted \
                 for it nor when its key was set."
                    .to_owned()
            }
            Ruling::Unknown => {
                "Nobody knows why: nodes have lost keys, and a client does not say which of them had voted for it."
                    .to_owned()
            }
            Ruling::Violation if double.first.relied_until_us.is_none() => {
                "Nothing explains it: no node has lost a key, and its TTL was not over, or its client should have renewed it. The lock, or a \
                 node, is broken."
                    .to_owned()
            }
            Ruling::Expired | Ruling::Deleted | Ruling::Violation => {
                "Nothing explains it: no node has lost a key. The lock, or a node, is broken.".to_owned()
            }
        };
    }
    match ruling {
        Ruling::Explained if new_master.is_some() => format!(
            "Why: host {} became the master without the key of {holder}, of which it had no copy yet. What the master before it, on \
             {forgot}, kept did not count any more. The lock did what it promises; this set-up can't survive a failover that comes too early.",
            new_master.unwrap_or_default()
        ),
        Ruling::Explained if old_master.is_some() => format!(
            "Why: host {} was no longer the master and did not know it, so it granted the lock that {holder} had from the new master, on \
             {forgot}: an old master has no copy of the new one's keys. The lock did what it promises; this set-up can't survive two masters \
             at once.",
            old_master.unwrap_or_default()
        ),
        Ruling::Explained if *nodes == 1 => {
            let replicas = match has_replicas {
                true => " Copies on replicas are no votes: they follow their master, and become as empty.",
                false => "",
            };
            format!(
                "Why: {forgot} came back without the key of {holder}, and that was its only vote.{replicas} The lock did what it promises; this \
                 set-up can't survive one node that forgets."
            )
        }
        Ruling::Explained => format!(
            "Why: {holder} had {had} of {nodes}, and {forgot} forgot. With {left} left, {} nodes could vote for somebody else, and {} are \
             enough. The lock did what it promises; this set-up can't survive so many nodes that forget.",
            nodes - left,
            nodes / 2 + 1
        ),
        Ruling::Unknown => format!(
            "Nobody knows why: a node did not say which keys it had lost, or {holder} had left when it was asked."
        ),
        Ruling::Expired | Ruling::Deleted | Ruling::Violation => format!(
            "Nothing explains it: {holder} had {had} of {nodes}, and {left} of them should have kept others out. The lock, or a node, is \
             broken."
        ),
    }
}
