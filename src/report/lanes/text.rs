//! Lanes as text.

use super::picture::{Kind, Lane, Picture, micros};
use super::story;
use crate::report::paint::{Paint, Tone};
use crate::report::wrap::{WIDTH, hanging};
use lockstorm_data::history::DoubleHold;
use lockstorm_data::metrics::units::place;
use lockstorm_data::model::Event;

/// The columns of the labels.
const LABELS: usize = 9;

/// The evidence of a double hold of an arm; the run ended `end` seconds after second 0.
pub fn text(arm: &str, double: &DoubleHold, events: &[Event], end: f64, paint: Paint) -> String {
    let (picture, columns) = (Picture::of(double, events, micros(end)), WIDTH - LABELS);
    let title = format!("{arm}: double hold {}, lock {}", double.number, double.key);
    let mut text = format!("{}\n\n", paint.apply(Tone::Strong, &title));
    let [from, until] = [picture.from, picture.until].map(seconds);
    text += &format!("{:LABELS$}{from}{until:>1$}\n", "", columns - from.len());
    for lane in &picture.lanes {
        let is_both = lane.spans.iter().any(|span| span.kind == Kind::Both);
        let tone = if is_both { Tone::Bad } else { Tone::Plain };
        let row = row(lane, &picture, columns);
        text += &format!("{:<LABELS$}{}\n", lane.label, paint.apply(tone, row.trim_end()));
    }
    let legend =
        "█ relies on it  ░ works on without  ▲ two at once  ─ has the first one's key  ═ the second one's  × down";
    text += &format!("\n{}\n\n", paint.apply(Tone::Faint, legend));
    for (at, what) in story::lines(double, events) {
        text += &hanging(&format!("{:>10}  ", seconds(at)), &what);
    }
    text += "\n";
    for line in story::conclusion(double) {
        text += &hanging("", &line);
    }
    text
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
    use lockstorm_data::history::{Belief, BeliefSale, Holder, LostVote, Ruling};
    use lockstorm_data::model::{Action, Condition, EventKind, Fault, HostId, Target};

    fn belief(worker: usize, [from, until, relied]: [i64; 3], votes: &[usize]) -> Belief {
        Belief {
            holder: Holder { server: 1, worker },
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
            kind: EventKind::Fault {
                action,
                target,
                order: None,
                ends: None,
                effect_at,
                proof: Vec::new(),
                error: None,
            },
            text: format!("{}: and more (proved)", action.done_to(target)),
        }
    }

    #[test]
    fn the_evidence_shows_who_held_what_the_nodes_lost_and_who_came_in() {
        let lost = [1, 2].map(|host| LostVote {
            host: Some(host),
            event: Some(host as u64),
        });
        let double = DoubleHold {
            number: 3,
            key: "product:7".to_owned(),
            first: belief(6, [1_000_000, 6_000_000, 4_500_000], &[1, 2, 3]),
            second: belief(20, [4_000_000, 7_000_000, 9_000_000], &[1, 2]),
            overlap_us: Some(500_000),
            lost: lost.to_vec(),
            ruling: Some(Ruling::Explained),
        };
        let kill = Action::Fault(Fault::Kill);
        let back = Action::Undo(Condition::Down);
        let events = [
            fault(1, 2.0, 2.1, kill, 1),
            fault(2, 2.4, 2.5, back, 1),
            fault(3, 3.0, 3.1, kill, 2),
            fault(4, 3.4, 3.5, back, 2),
        ];
        insta::assert_snapshot!(text("redlock", &double, &events, 10.0, Paint::Off));
        let svg = super::super::svg("redlock", &double, &events, 10.0);
        assert!(
            svg.starts_with("<svg xmlns")
                && svg.contains("s1w20 holds it too, valid until 9.000 s: 2 votes of 3 by hosts 1, 2")
        );
    }
}
