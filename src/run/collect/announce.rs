//! What users should see at once of an arm's figures: damage, stock that is sold out, missing quorums, failed requests, a silent
//! database.

use std::time::{Duration, Instant};

use crate::collect::collector::Collector;
use crate::show::notice::Notice;
use lockstorm_data::facts::{Caveat, EventKind, Lacking, Ledger, LockChange, Step};
use lockstorm_data::metrics::{Count, Entry, OrdersOf};
use lockstorm_data::model::{NoVote, Outcomes};
use lockstorm_data::scenario::ArmSpec;

/// What has been announced of an arm.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    overwritten: bool,
    beyond: bool,
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
        let damage = |damage, worst: Option<(usize, u64)>| EventKind::Damage {
            arm: name.clone(),
            damage,
            product: worst.map(|(product, _)| product),
            units: worst.map(|(_, units)| units),
            by_stall: books.lost_by_stalls > 0,
        };
        if let Some(names) = books.of.map(OrdersOf::names) {
            let is_found = |entry: &Entry| books.entries[*entry] > 0;
            if let Some(overwritten) = names.overwritten.filter(is_found)
                && first(true, &mut self.overwritten)
            {
                // It is found a little later.
                let at = collector.first_loss().unwrap_or_else(Instant::now);
                notices.push(Notice::Event(at, damage(overwritten, None)));
            }
            if first(is_found(&names.beyond), &mut self.beyond) {
                let worst = books.worst.filter(|_| names.beyond == Entry::Oversold);
                notices.push(Notice::now(damage(names.beyond, worst)));
            }
        }
        if first(collector.totals.measured.counts[Count::Stalled] > 0, &mut self.stalled) {
            let arm = name.clone();
            notices.push(Notice::Warning(Caveat::SectionStalled { arm }));
        }
        if first(books.of == Some(OrdersOf::Sales) && books.sold_out, &mut self.sold_out) {
            let step = Step::SoldOut { arm: name.clone() };
            notices.push(Notice::now(EventKind::Phase { step }));
        }
        if let Some(quoted) = collector.first_error.clone()
            && first(true, &mut self.failing)
        {
            let arm = name.clone();
            notices.push(Notice::Warning(Caveat::RequestFails { arm, quoted }));
        }
        notices
    }

    /// Announces that an arm's lock is refused because nodes are missing (`last_lacking`), and later that it is granted again, by
    /// how it fared in a second that has just ended.
    pub fn quorum(&mut self, arm: &ArmSpec, outcomes: Outcomes, last_lacking: &[NoVote]) -> Option<Notice> {
        let refused = outcomes.no_quorum + outcomes.unknown;
        let change = if refused > 0 && outcomes.acquired == 0 && !self.blocked {
            self.blocked = true;
            LockChange::AllRefused {
                lacking: Lacking::of(arm, last_lacking),
            }
        } else if outcomes.acquired > 0 && self.blocked {
            self.blocked = false;
            LockChange::AcquiredAgain
        } else {
            return None;
        };
        let arm = arm.name.clone();
        Some(Notice::now(EventKind::Lock { arm, change }))
    }

    /// Announces that an arm's `books` have not been answered for so long, and later that they are again.
    pub fn silence(&mut self, arm: &ArmSpec, ledger: Ledger, silent: Option<Duration>) -> Option<Notice> {
        if std::mem::replace(&mut self.silent, silent.is_some()) == silent.is_some() {
            return None;
        }
        let arm = arm.name.clone();
        Some(Notice::Warning(match silent {
            Some(time) => Caveat::LedgerSilent {
                arm,
                ledger,
                for_s: time.as_secs(),
            },
            None => Caveat::LedgerAnswers { arm, ledger },
        }))
    }
}
