//! Lanes as text.

use super::picture::{Kind, Lane, Picture, micros};
use super::shown::ShownHold;
use super::story;
use crate::report::paint::{Paint, Tone};
use crate::report::table::{Cell, paint_line};
use crate::report::wrap::{WIDTH, fold};
use lockstorm_data::metrics::units::place;

/// The columns of the labels.
const LABELS: usize = 9;

/// The evidence of a double hold.
pub fn text(shown: &ShownHold<'_>, paint: Paint) -> String {
    let lines = in_columns(shown, WIDTH).into_iter();
    lines.map(|line| paint_line(&line, paint) + "\n").collect()
}

/// The evidence of a double hold, in lines of so many columns, each in parts that stand behind each other. The first one is the title.
pub(crate) fn in_columns(shown: &ShownHold<'_>, width: usize) -> Vec<Vec<Cell>> {
    let (double, events) = (shown.double, shown.events);
    let (picture, columns) = (
        Picture::of(double, events, micros(shown.end)),
        width.saturating_sub(LABELS).max(1),
    );
    let title = format!("{}: double hold {}, lock {}", shown.arm, double.number, double.key);
    let [from, until] = [picture.from, picture.until].map(seconds);
    let axis = format!("{:LABELS$}{from}{until:>1$}", "", columns.saturating_sub(from.len()));
    let mut lines = vec![vec![Cell::new(Tone::Strong, title)], vec![], vec![Cell::plain(axis)]];
    for lane in &picture.lanes {
        let is_both = lane.spans.iter().any(|span| span.kind == Kind::Both);
        let tone = if is_both { Tone::Bad } else { Tone::Plain };
        let row = row(lane, &picture, columns);
        let label = Cell::plain(format!("{:<LABELS$}", lane.label));
        lines.push(vec![label, Cell::new(tone, row.trim_end())]);
    }
    let mut add = |tone, text: &str| lines.extend(text.lines().map(|line| vec![Cell::new(tone, line)]));
    let legend = "█ relies on it  ░ works on without  ▲ two at once  ─ first one's key  ═ second one's key  × down";
    add(Tone::Plain, "\n");
    add(Tone::Faint, &fold("", legend, width));
    add(Tone::Plain, "\n");
    for (at, what) in story::lines(double, events) {
        add(Tone::Plain, &fold(&format!("{:>10}  ", seconds(at)), &what, width));
    }
    add(Tone::Plain, "\n");
    for line in story::conclusion(double, shown.has_replicas) {
        add(Tone::Plain, &fold("", &line, width));
    }
    lines
}

fn seconds(at: i64) -> String {
    format!("{:.3} s", at as f64 / 1e6)
}

const fn symbol(kind: Kind) -> char {
    match kind {
        Kind::Belief => '█',
        Kind::Beyond => '░',
        Kind::Both => '▲',
        Kind::First => '─',
        Kind::Second => '═',
        Kind::Down => '×',
    }
}

fn row(lane: &Lane, picture: &Picture, columns: usize) -> String {
    let mut row = vec![' '; columns];
    let length = (picture.until - picture.from).max(1) as f64;
    let place = |at: i64| place((at - picture.from) as f64 / length * columns as f64);
    for span in &lane.spans {
        // What is too short for a column has one all the same.
        let (from, until) = (place(span.from).min(columns - 1), place(span.until).min(columns));
        row[from..until.max(from + 1)].fill(symbol(span.kind));
    }
    row.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::facts::{Event, EventKind, OrderedBy};
    use lockstorm_data::history::{Belief, BeliefSale, DoubleHold, Holder, LostVote, Ruling};
    use lockstorm_data::model::{Action, Condition, Direction, Fault, HostId, Target};

    fn belief(worker: usize, [from, until, relied]: [i64; 3], votes: &[usize]) -> Belief {
        Belief {
            holder: Holder { server: 1, worker },
            name: None,
            token: format!("token {worker}"),
            asked_us: Some(from - 1_000),
            from_us: from,
            until_us: Some(until),
            relied_until_us: Some(relied),
            votes: votes.to_vec(),
            nodes: 3,
            sale: Some(BeliefSale {
                at_us: until - 10_000,
                left: 36,
            }),
        }
    }

    fn fault(id: u64, at: f64, effect: f64, action: Action, host: usize) -> Event {
        let (target, effect_at) = (Target::Host(HostId(host)), Some(effect));
        Event {
            id,
            at,
            kind: EventKind::fault(action, target, OrderedBy::User, effect_at),
        }
    }

    fn shown<'a>(double: &'a DoubleHold, events: &'a [Event], has_replicas: bool) -> ShownHold<'a> {
        ShownHold {
            arm: "redlock",
            double,
            has_replicas,
            events,
            end: 10.0,
            run: "failover · seed 1".to_owned(),
        }
    }

    #[test]
    fn the_evidence_shows_who_held_what_the_nodes_lost_and_who_came_in() {
        let lost = [1, 2].map(|host| LostVote {
            host: Some(host),
            event: Some(host as u64),
            new_master: None,
            old_master: None,
        });
        let double = DoubleHold {
            number: 3,
            key: "product:7".to_owned(),
            first: belief(6, [1_000_000, 6_000_000, 4_500_000], &[1, 2, 3]),
            second: belief(20, [4_000_000, 7_000_000, 9_000_000], &[1, 2]),
            overlap_us: Some(500_000),
            lost: lost.to_vec(),
            ruling: Some(Ruling::Explained),
            removed_by: None,
        };
        let kill = Action::Fault(Fault::Kill);
        let back = Action::Undo(Condition::Down);
        let events = [
            fault(1, 2.0, 2.1, kill, 1),
            fault(2, 2.4, 2.5, back, 1),
            fault(3, 3.0, 3.1, kill, 2),
            fault(4, 3.4, 3.5, back, 2),
        ];
        insta::assert_snapshot!(text(&shown(&double, &events, false), Paint::Off));
        let svg = super::super::svg(&shown(&double, &events, false));
        assert!(
            svg.starts_with("<svg xmlns")
                && svg.contains("s1w20 holds it too, valid until 9.000 s: 2 votes of 3 by hosts 1, 2")
                && svg.contains("failover · seed 1")
                && svg.contains("has the second one&#39;s key") | svg.contains("has the second one's key")
        );
        // The first one's key is where it was, on a host that is cut off since before; another one has become the master.
        let mut double = double;
        double.first.votes = vec![1];
        double.second.votes = vec![2];
        [double.first.nodes, double.second.nodes] = [1, 1];
        double.lost = vec![LostVote {
            host: Some(1),
            event: None,
            new_master: Some(2),
            old_master: None,
        }];
        double.second.sale = Some(BeliefSale {
            at_us: 6_990_000,
            left: 35,
        });
        let cut = Action::Fault(Fault::Cut {
            direction: Direction::Both,
        });
        let mut events = vec![
            fault(1, 0.2, 0.3, cut, 1),
            fault(2, 0.1, 0.2, kill, 3),
            fault(3, 0.4, 0.5, back, 3),
        ];
        if let EventKind::Fault { ends, .. } = &mut events[2].kind {
            *ends = Some(2);
        }
        insta::assert_snapshot!("failover", text(&shown(&double, &events, true), Paint::Off));
        // The other way round: the new master's key is unknown to the old one.
        let mut reverse = double.clone();
        [reverse.first.votes, reverse.second.votes] = [vec![2], vec![1]];
        reverse.lost[0] = LostVote {
            host: Some(2),
            event: None,
            new_master: None,
            old_master: Some(1),
        };
        let told = text(&shown(&reverse, &events, true), Paint::Off);
        let why = "Why: host 1 was no longer the master and did not know it, so it granted the lock that s1w6 had from the new master, on host 2";
        assert!(
            told.split_whitespace().collect::<Vec<_>>().join(" ").contains(why),
            "{told}"
        );
        // It came back empty.
        double.lost[0].new_master = None;
        let text = text(&shown(&double, &[], true), Paint::Off);
        assert!(text.contains("Copies on replicas"), "{text}");
    }
}
