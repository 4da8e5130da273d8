//! What was found in the events of another program.

use lockstorm_data::history::{Holder, Reported};
use lockstorm_data::model::printable;
use lockstorm_run::oracle::past::{Judgement, PastDouble};
use serde::Serialize;

use super::figures;
use super::paint::{Paint, Tone};
use super::table::{Cell, Column, Table};

/// How many double holds are told in words.
const TOLD: usize = 10;

/// What the events of another program prove.
#[derive(Debug, Serialize)]
pub struct EventsJudged {
    #[serde(flatten)]
    reported: Reported,
    clients: usize,
    /// How often a lock was held: the holder had reason to rely on it.
    holds: u64,
    /// Two clients had reason to rely on the same lock at once.
    double_holds: u64,
    /// Two clients were inside at once.
    double_uses: u64,
    /// The first double holds, in words.
    doubles: Vec<String>,
}

impl EventsJudged {
    /// Puts together what the judge found of beliefs, and of who was inside.
    pub fn of(reported: Reported, held: Judgement, inside: Judgement, doubles: &[PastDouble]) -> Self {
        let name = |holder: Holder| reported.clients.get(holder.server - 1).map_or("", String::as_str);
        let told = doubles.iter().take(TOLD).map(|double| {
            let (first, second) = (name(double.first), name(double.second));
            let both = double.overlap as f64 / 1e6;
            format!(
                "\"{}\": {} got it at {} while {} had it: both relied on it for {both:.3} ms",
                printable(&double.key),
                printable(second),
                double.at,
                printable(first)
            )
        });
        Self {
            doubles: told.collect(),
            clients: reported.clients.len(),
            holds: held.beliefs,
            double_holds: held.double_holds,
            double_uses: inside.double_uses,
            reported,
        }
    }

    /// Whether the lock, or its use, is broken.
    pub const fn is_broken(&self) -> bool {
        self.double_holds + self.double_uses + self.reported.late_writes + self.reported.overran > 0
    }

    /// Why nothing can be shown, if that is so.
    pub fn doubt(&self) -> Option<String> {
        let reported = &self.reported;
        Some(if reported.events == 0 {
            "there was no event".to_owned()
        } else if self.holds == 0 {
            "nobody held a lock for any time: report `acquired` and `released`".to_owned()
        } else if reported.shared_keys == 0 {
            "no lock was acquired by two clients, so no overlap could show".to_owned()
        } else if reported.doubtful > 0 {
            format!(
                "of {} of the holds and sections nobody reported the end, or they had no length: those may have overlapped with others",
                reported.doubtful
            )
        } else {
            return None;
        })
    }
}

/// A table of what was found, and then the evidence.
pub fn render_events(judged: &EventsJudged, paint: Paint) -> String {
    fn count(count: u64) -> Cell {
        match count {
            0 => Cell::plain("0"),
            some => Cell::new(Tone::Bad, format!("✖ {some}")),
        }
    }
    let columns: [Column<EventsJudged>; 9] = [
        ("events", |all| Cell::plain(all.reported.events.to_string())),
        ("clients", |all| Cell::plain(all.clients.to_string())),
        ("holds", |all| Cell::plain(all.holds.to_string())),
        ("double holds", |all| count(all.double_holds)),
        ("double uses", |all| count(all.double_uses)),
        ("late writes", |all| count(all.reported.late_writes)),
        ("overran", |all| count(all.reported.overran)),
        ("cut off", |all| Cell::plain(all.reported.cut_off.to_string())),
        ("down for", |all| {
            let longest = all.reported.unavailable_ns;
            longest.map_or_else(Cell::none, |ns| Cell::plain(figures::time(ns as f64 / 1e9)))
        }),
    ];
    let table = Table::of(&columns, [judged]).render(paint);
    let evidence = judged.doubles.iter().chain(&judged.reported.late);
    let more = judged.double_holds.saturating_sub(judged.doubles.len() as u64);
    let more = (more > 0).then(|| format!("and {more} more double holds"));
    let lines = evidence.chain(&more);
    lines.fold(table, |text, line| text + "\n" + line) + if judged.is_broken() { "\n" } else { "" }
}
