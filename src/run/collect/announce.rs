//! What users should see at once of an arm's figures: damage, stock that is sold out, missing quorums, failed requests, a silent
//! database.

use std::time::{Duration, Instant};

use crate::collect::collector::Collector;
use crate::show::lacking::lacking;
use crate::show::notice::Notice;
use lockstorm_data::metrics::Count;
use lockstorm_data::metrics::units::count;
use lockstorm_data::model::{EventKind, NoVote, Outcomes};
use lockstorm_data::scenario::{ArmSpec, OrdersOf};

/// What has been announced of an arm.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    lost_updates: bool,
    oversold: bool,
    sold_out: bool,
    /// That requests fail.
    failing: bool,
    /// That this machine holds its sections up.
    stalled: bool,
    /// That its books are not answered for.
    silent: bool,
    /// That no acquire was granted for a whole second since nodes were missing.
    blocked: bool,
}

/// Whether something is so that was not announced before.
fn first(is_so: bool, announced: &mut bool) -> bool {
    is_so && !std::mem::replace(announced, true)
}

impl Announced {
    /// Whether it was announced that no lock is granted, and not yet that some are again.
    pub const fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Announces what an arm's figures show for the first time.
    pub fn look(&mut self, arm: &ArmSpec, collector: &Collector) -> Vec<Notice> {
        let (name, books, mut notices) = (&arm.name, &collector.totals.books, Vec::new());
        let damage = || EventKind::Damage { arm: name.clone() };
        let how = match (books.lost_by_stalls, books.of) {
            (1.., _) => "what was held up until its lock had expired overwrote others",
            (0, OrdersOf::Payments) => "one payment overwrote another",
            (0, _) => "one sale overwrote another",
        };
        if first(books.lost_updates > 0, &mut self.lost_updates) {
            let what = match books.of {
                OrdersOf::Sales | OrdersOf::Ticks => "updates are lost",
                OrdersOf::Payments => "money is made from nothing",
            };
            // It is found a little later.
            let at = collector.first_loss().unwrap_or_else(Instant::now);
            notices.push(Notice::Event(at, damage(), format!("{name}: {what}: {how}")));
        }
        let mut tell = |kind, text: String| notices.push(Notice::now(kind, format!("{name}: {text}")));
        if first(books.oversold > 0, &mut self.oversold) {
            let product = books.worst.map_or_else(String::new, |(product, units)| {
                format!(": of product {product}, {} too many", count(units))
            });
            let text = match books.of {
                OrdersOf::Sales => format!("more is sold than there is{product}"),
                OrdersOf::Ticks => "a job has run twice for one tick".to_owned(),
                OrdersOf::Payments => format!("money is lost: {how}"),
            };
            tell(damage(), text);
        }
        if first(collector.totals.measured.counts[Count::Stalled] > 0, &mut self.stalled) {
            let text = "a section was held up until its lock had expired, since this machine is too busy or this program was \
                        stopped: damage from now on may come from that";
            tell(EventKind::Warning, text.to_owned());
        }
        if first(books.of == OrdersOf::Sales && books.sold_out, &mut self.sold_out) {
            let text = "sold out: from now on buyers find nothing left";
            tell(EventKind::Phase, text.to_owned());
        }
        if let Some(why) = &collector.first_error
            && first(true, &mut self.failing)
        {
            tell(EventKind::Warning, format!("requests fail: {why}"));
        }
        notices
    }

    /// Announces that an arm's lock is refused because nodes are missing (`last_lacking`), and later that it is granted again, by
    /// how it fared in a second that has just ended.
    pub fn quorum(&mut self, arm: &ArmSpec, outcomes: Outcomes, last_lacking: &[NoVote]) -> Option<Notice> {
        let name = &arm.name;
        let refused = outcomes.no_quorum + outcomes.unknown;
        let text = if refused > 0 && outcomes.acquired == 0 && !self.blocked {
            self.blocked = true;
            all_failing(name, lacking(arm, last_lacking).as_deref())
        } else if outcomes.acquired > 0 && self.blocked {
            self.blocked = false;
            format!("{name}: locks are granted again")
        } else {
            return None;
        };
        Some(Notice::now(EventKind::Lock { arm: name.clone() }, text))
    }

    /// Announces that an arm's `books` have not been answered for so long, and later that they are again.
    pub fn silence(&mut self, arm: &ArmSpec, books: &str, silent: Option<Duration>) -> Option<Notice> {
        if std::mem::replace(&mut self.silent, silent.is_some()) == silent.is_some() {
            return None;
        }
        Some(Notice::Warning(match silent {
            Some(time) => format!("{}: {books} has not answered for {} s", arm.name, time.as_secs()),
            None => format!("{}: {books} answers again", arm.name),
        }))
    }
}

/// Says that no acquire was granted for a second, with the cause if it is known.
fn all_failing(name: &str, why: Option<&str>) -> String {
    let why = why.unwrap_or("no lock was granted for a second");
    format!("{name}: all acquires failing: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_has_an_empty_cause() {
        assert_eq!(
            all_failing("redlock", Some("node 1 down")),
            "redlock: all acquires failing: node 1 down"
        );
        let text = all_failing("redlock", None);
        assert_eq!(text, "redlock: all acquires failing: no lock was granted for a second");
    }
}
