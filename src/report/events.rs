//! What was found in the events of another program.

use lockstorm_data::facts::{Caveat, Misuse};
use lockstorm_data::history::{Holder, Reported};
use lockstorm_data::model::{CheckResult, printable};
use lockstorm_run::oracle::past::PastDouble;
use lockstorm_run::oracle::reported::JudgedEvents;
use maud::html;
use serde::Serialize;

use super::figures;
use super::lanes::{Kind, Picture, lanes};
use super::page::{class, page, tabled};
use super::paint::{Paint, Tone};
use super::table::{Cell, Column, Table};

/// What is judged.
const EXCLUSIVE: &str =
    "Judged as exclusive locks: of a shared lock, or of a semaphore with several permits, this shows nothing.";
/// How many double holds are told in words.
const TOLD: usize = 10;

/// What is told of the events of another program.
#[derive(Debug, Serialize)]
pub struct EventsJudged<'a> {
    #[serde(skip)]
    judged: &'a JudgedEvents,
    #[serde(flatten)]
    reported: &'a Reported,
    clients: usize,
    /// How often a lock was held: the holder had reason to rely on it.
    holds: u64,
    /// Two clients had reason to rely on the same lock at once.
    double_holds: u64,
    /// Two clients were inside at once; null if no `entered` was reported.
    double_uses: Option<u64>,
    /// The first double holds, in words.
    doubles: Vec<String>,
}

impl<'a> EventsJudged<'a> {
    /// Puts it into words.
    pub fn of(judged: &'a JudgedEvents) -> Self {
        let reported = &judged.reported;
        let in_words = |double: &PastDouble| {
            let (first, second, [at, until]) = (
                name(reported, double.first),
                name(reported, double.second),
                double.overlap(),
            );
            let removal = judged.overtaken(double).map_or_else(String::new, |(who, released)| {
                format!(
                    "; {} released at {released}, after {} had got it: that may have removed its key, if a release does not compare the token",
                    printable(who),
                    printable(first)
                )
            });
            format!(
                "\"{}\": {} got it at {at} while {} had it: both relied on it for {:.3} ms{removal}",
                printable(&double.key),
                printable(second),
                printable(first),
                until.saturating_sub(at) as f64 / 1e6
            )
        };
        Self {
            doubles: judged.double_holds.iter().take(TOLD).map(in_words).collect(),
            clients: reported.clients.len(),
            holds: judged.holds,
            double_holds: judged.double_holds.len() as u64,
            double_uses: judged.double_uses(),
            reported,
            judged,
        }
    }

    /// Whether two clients held a lock, or were inside, at once.
    fn is_double(&self) -> bool {
        self.double_holds > 0 || self.double_uses > Some(0)
    }
}

/// A double hold to scale.
fn picture(reported: &Reported, double: &PastDouble) -> Picture {
    Picture::of_spans([
        (name(reported, double.first), double.first_relied, Kind::Belief),
        (name(reported, double.second), double.second_relied, Kind::Belief),
        ("both", double.overlap(), Kind::Both),
    ])
}

fn name(reported: &Reported, holder: Holder) -> &str {
    reported.clients.get(holder.server - 1).map_or("", String::as_str)
}

/// A table of what was found.
fn table(judged: &EventsJudged<'_>) -> Table {
    fn count(count: Option<u64>) -> Cell {
        match count {
            None => Cell::none(),
            Some(0) => Cell::plain("0"),
            Some(some) => Cell::new(Tone::Bad, format!("✖ {some}")),
        }
    }
    let columns: [Column<EventsJudged<'_>>; 9] = [
        ("events", |all| Cell::plain(all.reported.events.to_string())),
        ("clients", |all| Cell::plain(all.clients.to_string())),
        ("holds", |all| Cell::plain(all.holds.to_string())),
        ("double holds", |all| count(Some(all.double_holds))),
        ("double uses", |all| count(all.double_uses)),
        ("late writes", |all| count(all.reported.late_writes)),
        ("overran", |all| count(all.reported.overran)),
        ("cut off", |all| Cell::plain(all.reported.cut_off.to_string())),
        ("down for", |all| {
            let longest = all.reported.unavailable_ns;
            longest.map_or_else(Cell::none, |ns| Cell::plain(figures::time(ns as f64 / 1e9)))
        }),
    ];
    Table::of(&columns, [judged])
}

/// How many double holds were found besides those that are told.
fn more(judged: &EventsJudged<'_>) -> Option<String> {
    let more = judged.double_holds.saturating_sub(judged.doubles.len() as u64);
    (more > 0).then(|| format!("and {more} more double holds"))
}

/// A table of what was found, and then the evidence.
pub fn render_events(judged: &EventsJudged<'_>, paint: Paint) -> String {
    let (reported, more) = (judged.reported, more(judged));
    let misuses = reported.late.iter().chain(&reported.handed_out).map(Misuse::to_string);
    let exclusive = judged.is_double().then(|| EXCLUSIVE.to_owned());
    let lines = judged
        .doubles
        .iter()
        .cloned()
        .chain(more)
        .chain(misuses)
        .chain(exclusive);
    lines.fold(table(judged).render(paint), |text, line| text + "\n" + &line)
        + if judged.judged.result() == CheckResult::Failed {
            "\n"
        } else {
            ""
        }
}

/// The same as a page, with the double holds to scale. `source`: where the events came from; `doubt`: why nothing was shown.
pub fn events_page(judged: &EventsJudged<'_>, source: &str, doubt: Option<&Caveat>) -> String {
    let (tone, verdict) = match (judged.judged.result() == CheckResult::Failed, doubt) {
        (true, _) => (
            Tone::Bad,
            "✖ two clients relied on one lock, or one worked on without it, or a token or fence came twice".to_owned(),
        ),
        (false, Some(doubt)) => (Tone::Doubt, format!("nothing was shown: {doubt}")),
        (false, None) => (Tone::Good, "no two clients relied on one lock at once".to_owned()),
    };
    let body = html! {
        main {
            h1 { "What " (source) " tells of its locks" }
            p class=(class(tone)) { b { (verdict) } }
            (tabled(&table(judged)))
            @for (words, double) in judged.doubles.iter().zip(&judged.judged.double_holds) {
                p { (words) }
                (lanes(&picture(judged.reported, double)))
            }
            @if let Some(line) = more(judged) { p { (line) } }
            @for line in judged.reported.late.iter().chain(&judged.reported.handed_out) { p { (line) } }
            @if judged.is_double() { p { (EXCLUSIVE) } }
            p { small {
                "Blue: a client had reason to rely on the lock. Red: two had it at once. Times are those that were reported. Lockstorm "
                (env!("CARGO_PKG_VERSION"))
            } }
        }
    };
    page(&format!("{source} judged by Lockstorm"), &body)
}
