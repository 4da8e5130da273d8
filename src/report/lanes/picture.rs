//! What happened to one lock as lanes over time, before anybody draws them.

use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::history::{Belief, DoubleHold};
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::model::{Action, Condition, HostId, Target, printable};

/// How many characters of a name have room before a lane.
const LABEL: usize = 8;

/// A row of the picture.
#[derive(Debug, PartialEq)]
pub(in crate::report) struct Lane {
    pub label: String,
    pub spans: Vec<Span>,
}

/// A part of a lane, in microseconds since second 0.
#[derive(Debug, PartialEq)]
pub(in crate::report) struct Span {
    pub from: i64,
    pub until: i64,
    pub kind: Kind,
}

/// What a part of a lane says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Kind {
    /// A holder believes that it holds the lock.
    Belief,
    /// A holder is still in its section, and its belief is over.
    Beyond,
    /// Two believe at once.
    Both,
    /// A node has the key of the first holder.
    First,
    /// A node is down.
    Down,
    /// A node has the key of the second holder.
    Second,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Belief,
        Self::Beyond,
        Self::Both,
        Self::First,
        Self::Second,
        Self::Down,
    ];
}

/// The time that a picture shows, and its lanes.
#[derive(Debug, PartialEq)]
pub(in crate::report) struct Picture {
    pub from: i64,
    pub until: i64,
    pub lanes: Vec<Lane>,
}

/// When this host went down or came back, in microseconds, in order.
fn changes(events: &[Event], host: usize) -> Vec<(i64, bool)> {
    let change = |event: &Event| {
        let EventKind::Fault {
            action,
            target: Target::Host(HostId(hit)),
            effect_at: Some(effect),
            ..
        } = &event.kind
        else {
            return None;
        };
        if *hit != host {
            return None;
        }
        match action {
            Action::Fault(fault) if fault.brings() == Some(Condition::Down) => Some((micros(*effect), true)),
            // Who comes back may grant before that is proved.
            Action::Undo(Condition::Down) => Some((micros(event.at), false)),
            _ => None,
        }
    };
    let mut changes: Vec<_> = events.iter().filter_map(change).collect();
    changes.sort_unstable();
    changes
}

/// Seconds since second 0 as microseconds; 0 before that.
pub(super) fn micros(seconds: f64) -> i64 {
    i64::try_from(rounded(seconds.max(0.0) * 1e6)).unwrap_or(i64::MAX)
}

impl Picture {
    /// One span in each lane; times are nanoseconds of any clock.
    pub fn of_spans<const N: usize>(lanes: [(&str, [i64; 2], Kind); N]) -> Self {
        let from = lanes.iter().map(|(_, [from, _], _)| from / 1000).min().unwrap_or(0);
        let until = lanes.iter().map(|(_, [_, until], _)| until / 1000).max().unwrap_or(0);
        let lane = |(label, [from, until], kind): (&str, [i64; 2], Kind)| Lane {
            label: short(&printable(label)),
            spans: vec![Span {
                from: from / 1000,
                until: until / 1000,
                kind,
            }],
        };
        let margin = until.saturating_sub(from) / 50;
        Self {
            from: from.saturating_sub(margin),
            until: until.saturating_add(margin),
            lanes: lanes.into_iter().map(lane).collect(),
        }
    }

    /// The picture of a double hold in a run with these events, until `end` if its holders did not leave.
    pub fn of(double: &DoubleHold, events: &[Event], end: i64) -> Self {
        let (first, second) = (&double.first, &double.second);
        let left = |belief: &Belief| belief.until_us.unwrap_or(end);
        let until = left(first).max(left(second));
        let holder = |belief: &Belief| Lane {
            label: short(&belief.who()),
            spans: holds(belief, left(belief)),
        };
        let mut lanes = vec![holder(first), holder(second)];
        if let Some(overlap) = double.overlap_us {
            lanes.push(Lane {
                label: "both".to_owned(),
                spans: vec![Span {
                    from: second.from_us,
                    until: second.from_us + i64::try_from(overlap).unwrap_or(0),
                    kind: Kind::Both,
                }],
            });
        }
        let mut hosts: Vec<usize> = first.votes.iter().chain(&second.votes).copied().collect();
        hosts.sort_unstable();
        hosts.dedup();
        lanes.extend(hosts.into_iter().map(|host| Lane {
            label: format!("host {host}"),
            spans: keys(double, host, &changes(events, host), until),
        }));
        let from = first.from_us.min(second.from_us);
        let margin = (until - from) / 50;
        Self {
            from: from - margin,
            until: until + margin,
            lanes,
        }
    }
}

/// A label for which there is room: of names the end tells them apart.
fn short(label: &str) -> String {
    let left_out = label.chars().count().saturating_sub(LABEL);
    match label.char_indices().nth(left_out + 1) {
        Some((from, _)) if left_out > 0 => format!("…{}", &label[from..]),
        _ => label.to_owned(),
    }
}

/// A holder's time in its section: as long as it believes, and beyond.
fn holds(belief: &Belief, left: i64) -> Vec<Span> {
    // Another program may have written anything.
    let relied = belief.relied_until_us.unwrap_or(left).min(left).max(belief.from_us);
    let spans = [(belief.from_us, relied, Kind::Belief), (relied, left, Kind::Beyond)];
    let spans = spans.into_iter().filter(|(from, until, _)| from < until);
    spans.map(|(from, until, kind)| Span { from, until, kind }).collect()
}

/// Whose key a host's node has, as far as votes, losses and deaths tell.
fn keys(double: &DoubleHold, host: usize, changes: &[(i64, bool)], end: i64) -> Vec<Span> {
    let mut spans = Vec::new();
    let lost = double
        .lost
        .iter()
        .any(|lost| lost.host == Some(host) && lost.new_master.is_none() && lost.old_master.is_none());
    for (belief, kind, is_lost) in [
        (&double.first, Kind::First, lost),
        (&double.second, Kind::Second, false),
    ] {
        if !belief.votes.contains(&host) {
            continue;
        }
        let until = belief.until_us.unwrap_or(end);
        let down = changes.iter().find(|(at, down)| *down && *at > belief.from_us);
        let until = match (is_lost, down) {
            (true, Some((at, _))) => until.min(*at),
            (true, None) => until.min(double.second.from_us),
            (false, _) => until,
        };
        let from = belief.from_us;
        spans.push(Span { from, until, kind });
    }
    for (at, is_down) in changes
        .iter()
        .filter(|(at, _)| (double.first.from_us..end).contains(at))
    {
        if *is_down {
            let back = changes.iter().find(|(back, down)| !down && back > at);
            spans.push(Span {
                from: *at,
                until: back.map_or(end, |(back, _)| (*back).min(end)),
                kind: Kind::Down,
            });
        }
    }
    spans.sort_by_key(|span| span.from);
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::history::Holder;

    #[test]
    fn a_hold_that_ends_before_it_begins_has_no_length() {
        let belief = Belief {
            holder: Holder { server: 1, worker: 1 },
            name: None,
            token: String::new(),
            asked_us: None,
            from_us: 100,
            until_us: Some(50),
            relied_until_us: Some(70),
            votes: Vec::new(),
            nodes: 1,
            sale: None,
        };
        assert_eq!(holds(&belief, 50), []);
    }
}
