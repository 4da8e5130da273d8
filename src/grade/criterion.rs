//! What is asked of a client, of what a run has found.

use std::time::Duration;

use super::grades::Grade;
use super::reason::Reason;
use lockstorm_data::metrics::{Count, Entry, Figures, Outage, Time};
use lockstorm_data::scenario::ArmSpec;
use lockstorm_run::client::GRACE;

/// What a run has found of a client.
pub(crate) struct Seen<'a> {
    pub arm: &'a ArmSpec,
    pub figures: &'a Figures,
    /// On how many nodes its locks are.
    pub nodes: usize,
    /// How long the fault lasts.
    pub fault: Duration,
    /// How long the client itself is made to stand still.
    pub still: Duration,
    /// What it got while nothing failed, under the same load and for as long, if that was played.
    pub healthy: Option<&'a Grade>,
    /// Whose release has most likely removed the key of the next holder, if that was found.
    pub removed_by: Option<String>,
}

/// A question; `None`: it is as it should be.
pub(crate) type Criterion = fn(&Seen<'_>) -> Option<Reason>;

/// How much later than its timeout an acquire may be answered.
const LATE: Duration = Duration::from_secs(2);
/// How long nobody may be granted a lock longer than the fault itself explains, without a reason for less than an A, in microseconds.
/// An act must last long enough after its fault that more can be seen.
const SOON: u64 = 1_500_000;
/// How much slower than usual acquires may be while one of several nodes is slow, in microseconds.
const SLOWER: u64 = 200_000;
/// What part of the usual number of locks it must grant in such an act, in percent. Those who wait for each node granted half to three
/// quarters, the others nine tenths at least.
const FEWER: u64 = 85;

/// How many locks must be granted while nothing fails, in all.
const LEAST: u64 = 12;

/// How much earlier than its holder was told a lock may end, in microseconds: Redis counts in whole milliseconds. The algorithm of Redlock
/// takes off as much.
const RESOLUTION: u64 = 2_000;

/// Locks are granted at all.
pub(crate) fn works(seen: &Seen<'_>) -> Option<Reason> {
    (seen.figures.outcomes.acquired == 0).then_some(Reason::NeverAcquired)
}

/// No two hold a lock at once.
pub(crate) fn exclusion(seen: &Seen<'_>) -> Option<Reason> {
    let Figures {
        double_holds: locks,
        law_violations,
        expired_holds,
        deleted,
        unjudged,
        ..
    } = *seen.figures;
    // Here work is shorter than the TTL, or renewed: a lock that expires is no better than one that is broken.
    let unexplained = law_violations + expired_holds;
    match () {
        () if unexplained > 0 => Some(Reason::Unexplained {
            locks,
            unexplained,
            removed_by: seen.removed_by.clone(),
        }),
        () if deleted > 0 => Some(Reason::KeysDeleted { locks }),
        () if unjudged > 0 => Some(Reason::Unjudged { locks }),
        () if locks > 0 => Some(Reason::KeysLost { locks }),
        () => None,
    }
}

/// Where nothing fails and the work is a small part of the TTL, a lock lasts as long as its work. If its end is told before that, its holder
/// relies on nothing, and no two holders can show.
pub(crate) fn lasts(seen: &Seen<'_>) -> Option<Reason> {
    let counts = &seen.figures.counts;
    let locks = counts[Count::LocksLost]
        .max(counts[Count::Overran])
        .max(counts[Count::Aborted]);
    let of = seen.figures.outcomes.acquired;
    (locks * 20 > of).then_some(Reason::OverEarly { locks, of })
}

/// Enough locks are granted that something can be seen.
pub(crate) fn enough(seen: &Seen<'_>) -> Option<Reason> {
    let locks = seen.figures.outcomes.acquired;
    (locks < LEAST).then_some(Reason::TooFew { locks })
}

/// What the lock guards is unharmed, if nobody else held the lock.
pub(crate) fn damage(seen: &Seen<'_>) -> Option<Reason> {
    let updates = seen.figures.booked(Entry::LostUpdatesPeak);
    (updates > 0 && seen.figures.double_holds == 0).then_some(Reason::UpdatesLost { updates })
}

/// Whoever asks for a lock hears something in time.
pub(crate) fn answers(seen: &Seen<'_>) -> Option<Reason> {
    let timeout = seen.arm.timeout;
    let longest = Time::ACQUIRES.iter().map(|time| seen.figures.times[*time].max).max()?;
    let timeout_us = in_micros(timeout);
    match () {
        () if longest >= in_micros(timeout + GRACE + seen.still) => Some(Reason::Unanswered {
            timeout_us,
            waited_us: longest,
        }),
        () if longest > in_micros(timeout + LATE + seen.still) => Some(Reason::AnsweredLate {
            timeout_us,
            took_us: longest,
        }),
        () => None,
    }
}

/// In the end every lock can be had.
pub(crate) const fn stuck(seen: &Seen<'_>) -> Option<Reason> {
    match seen.figures.stuck {
        Some(0) => None,
        Some(locks) => Some(Reason::Stuck { locks }),
        None => Some(Reason::StuckUntried),
    }
}

/// A lock that is held is told as that.
pub(crate) fn busy_is_told(seen: &Seen<'_>) -> Option<Reason> {
    let outcomes = &seen.figures.outcomes;
    let refusals = outcomes.no_quorum + outcomes.unknown;
    (refusals * 100 > outcomes.acquired + outcomes.contended).then_some(Reason::BusyAsOutage { refusals })
}

/// An outage is told as that. Where most nodes are away, most refusals are because of that.
pub(crate) fn outage_is_told(seen: &Seen<'_>) -> Option<Reason> {
    let outcomes = &seen.figures.outcomes;
    let (refusals, told) = (outcomes.contended, outcomes.no_quorum + outcomes.unknown);
    (refusals > told).then_some(Reason::OutageAsBusy { refusals, told })
}

/// Once the fault is over, locks are granted again soon.
pub(crate) fn recovers(seen: &Seen<'_>) -> Option<Reason> {
    let outages = seen.figures.outages.iter();
    let longest = outages.max_by_key(|outage| outage.all_us).copied().unwrap_or_default();
    let Outage {
        all_us: for_us,
        all_over: over,
        ..
    } = longest;
    let beyond_us = for_us.saturating_sub(in_micros(seen.fault));
    match () {
        () if !over && for_us > 0 => Some(Reason::NotRecovered { for_us }),
        () if beyond_us <= SOON => None,
        () => Some(Reason::Outage { for_us, beyond_us }),
    }
}

/// One slow or missing node of several stops nobody, and does not slow everybody down.
pub(crate) fn one_of_many(seen: &Seen<'_>) -> Option<Reason> {
    let nodes = seen.nodes;
    if nodes == 1 {
        return None;
    }
    let Some(healthy) = seen.healthy else {
        return Some(Reason::NotCompared);
    };
    let (locks, usual) = (seen.figures.outcomes.acquired, healthy.acquired);
    if locks * 100 < usual * FEWER {
        return Some(Reason::Fewer { nodes, locks, usual });
    }
    let (p99_us, usual_us) = (seen.figures.acquire_us.p99, healthy.acquire_p99_us);
    (p99_us > usual_us + SLOWER).then_some(Reason::Slower {
        nodes,
        p99_us,
        usual_us,
    })
}

/// Locks last as long as they are renewed.
pub(crate) fn renewed(seen: &Seen<'_>) -> Option<Reason> {
    let locks = seen.figures.counts[Count::LocksLost].max(seen.figures.counts[Count::Overran]);
    let of = seen.figures.sections();
    (locks * 20 > of).then_some(Reason::RenewalLost { locks, of })
}

/// Where locks end before their sections do: a holder is told, so that no two hold a lock at once.
pub(crate) fn end_is_told(seen: &Seen<'_>) -> Option<Reason> {
    let Figures {
        double_holds: locks,
        law_violations: early,
        ..
    } = *seen.figures;
    match () {
        () if locks == 0 || seen.figures.times[Time::Overlap].max <= RESOLUTION => None,
        () if early > 0 => Some(Reason::HeldByTwo {
            locks,
            early,
            removed_by: seen.removed_by.clone(),
        }),
        () => Some(Reason::EndUntold { locks }),
    }
}

fn in_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::act::ACTS;
    use crate::letter::Letter;
    use crate::subject::Subject;
    use lockstorm_data::scenario::LockKind;

    /// What the criterion says of these figures, of a client on one node, with a fault of one second.
    fn says(criterion: Criterion, change: impl FnOnce(&mut Figures)) -> Option<Letter> {
        on(1, None, criterion, change)
    }

    /// The same of a client on so many nodes, which got that while nothing failed.
    fn on(
        nodes: usize,
        healthy: Option<&Grade>,
        criterion: Criterion,
        change: impl FnOnce(&mut Figures),
    ) -> Option<Letter> {
        let scenario = ACTS[0]
            .scenario(&Subject::Engine(LockKind::Single), 1)
            .unwrap_or_else(|why| panic!("{why}"));
        let mut figures = Figures::default();
        change(&mut figures);
        let seen = Seen {
            arm: &scenario.arms[0],
            figures: &figures,
            nodes,
            fault: Duration::from_secs(1),
            still: Duration::ZERO,
            healthy,
            removed_by: None,
        };
        criterion(&seen).map(|reason| reason.letter())
    }

    #[test]
    fn a_client_that_grants_nothing_does_not_work() {
        assert_eq!(says(works, |_| ()), Some(Letter::F));
        assert_eq!(says(works, |seen| seen.outcomes.acquired = 1), None);
    }

    #[test]
    fn locks_that_are_over_at_once_or_hardly_granted_show_nothing_good() {
        let over = |count, number| {
            says(lasts, move |seen| {
                seen.outcomes.acquired = 100;
                seen.counts[count] = number;
            })
        };
        for count in [Count::LocksLost, Count::Overran, Count::Aborted] {
            assert_eq!(over(count, 5), None, "a machine may be slow once");
            assert_eq!(over(count, 6), Some(Letter::F));
        }
        assert_eq!(says(enough, |seen| seen.outcomes.acquired = 11), Some(Letter::Unknown));
        assert_eq!(says(enough, |seen| seen.outcomes.acquired = 12), None);
    }

    #[test]
    fn two_holders_are_worse_if_no_node_lost_a_key() {
        assert_eq!(says(exclusion, |_| ()), None);
        assert_eq!(says(exclusion, |seen| seen.double_holds = 1), Some(Letter::C));
        let unlawful = |seen: &mut Figures| {
            seen.double_holds = 1;
            seen.law_violations = 1;
        };
        assert_eq!(says(exclusion, unlawful), Some(Letter::F));
        let unjudged = |seen: &mut Figures| {
            seen.double_holds = 1;
            seen.unjudged = 1;
        };
        assert_eq!(says(exclusion, unjudged), Some(Letter::C));
        assert_eq!(says(end_is_told, |_| ()), None);
        let overlapping = |micros| {
            says(end_is_told, move |seen| {
                seen.double_holds = 1;
                seen.times[Time::Overlap].max = micros;
            })
        };
        assert_eq!(overlapping(2_000), None, "it counts in milliseconds");
        assert_eq!(overlapping(2_001), Some(Letter::D));
        let taken = |criterion, overlap| {
            says(criterion, move |seen| {
                (seen.double_holds, seen.law_violations, seen.expired_holds) = (2, 1, 1);
                seen.times[Time::Overlap].max = overlap;
            })
        };
        assert_eq!(taken(end_is_told, 2_001), Some(Letter::F), "its TTL was not over");
        assert_eq!(taken(end_is_told, 2_000), None);
        let expired = |seen: &mut Figures| (seen.double_holds, seen.expired_holds) = (1, 1);
        assert_eq!(
            says(exclusion, expired),
            Some(Letter::F),
            "work is shorter than the TTL"
        );
    }

    #[test]
    fn a_lost_update_is_marked_unless_two_holders_explain_it() {
        assert_eq!(says(damage, |_| ()), None);
        assert_eq!(
            says(damage, |seen| seen.ledger[Entry::LostUpdatesPeak] = Some(1)),
            Some(Letter::D)
        );
        let explained = |seen: &mut Figures| {
            seen.ledger[Entry::LostUpdatesPeak] = Some(1);
            seen.double_holds = 1;
        };
        assert_eq!(says(damage, explained), None);
    }

    #[test]
    fn a_lock_that_stays_stuck_is_an_f_and_one_that_was_not_tried_is_unknown() {
        assert_eq!(says(stuck, |seen| seen.stuck = Some(0)), None);
        assert_eq!(says(stuck, |seen| seen.stuck = Some(1)), Some(Letter::F));
        assert_eq!(says(stuck, |_| ()), Some(Letter::Unknown));
    }

    #[test]
    fn a_busy_lock_is_told_from_an_outage() {
        let busy = |seen: &mut Figures| seen.outcomes.contended = 100;
        assert_eq!(says(busy_is_told, busy), None);
        assert_eq!(says(outage_is_told, busy), Some(Letter::C));
        let outage = |seen: &mut Figures| seen.outcomes.no_quorum = 100;
        assert_eq!(says(busy_is_told, outage), Some(Letter::C));
        assert_eq!(says(outage_is_told, outage), None);
        let both = |told| {
            says(outage_is_told, move |seen| {
                seen.outcomes.contended = 10;
                seen.outcomes.no_quorum = told;
            })
        };
        assert_eq!(both(9), Some(Letter::C));
        assert_eq!(both(10), None);
    }

    #[test]
    fn recovery_has_every_letter_from_none_to_f() {
        let outage = |seconds: u64, over| {
            says(recovers, move |seen| {
                seen.outages = vec![Outage {
                    all_us: seconds * 1_000_000,
                    all_over: over,
                    ..Outage::default()
                }];
            })
        };
        assert_eq!(outage(0, true), None);
        assert_eq!(outage(2, true), None, "one second of it is the fault's own");
        assert_eq!(outage(3, true), Some(Letter::B));
        assert_eq!(outage(4, true), Some(Letter::D));
        assert_eq!(outage(2, false), Some(Letter::F));
    }

    #[test]
    fn one_slow_node_of_several_must_not_slow_everybody_down() {
        let healthy = Grade {
            act: "healthy",
            title: "",
            letter: Letter::A,
            why: Vec::new(),
            acquired: 100,
            acquire_p99_us: 1_000,
        };
        let grants = |nodes, healthy: Option<&Grade>, acquired, p99| {
            on(nodes, healthy, one_of_many, |seen| {
                seen.outcomes.acquired = acquired;
                seen.acquire_us.p99 = p99;
            })
        };
        let usual = Some(&healthy);
        assert_eq!(grants(3, usual, 85, 201_000), None);
        assert_eq!(grants(3, usual, 85, 201_001), Some(Letter::B));
        assert_eq!(grants(3, usual, 84, 1_000), Some(Letter::C));
        assert_eq!(
            grants(3, None, 100, 1_000),
            Some(Letter::Unknown),
            "nothing to compare with"
        );
        assert_eq!(grants(1, usual, 1, 9_000_000), None, "its only node is away");
    }

    #[test]
    fn renewed_locks_must_not_be_lost() {
        let lost = |number| {
            says(renewed, move |seen| {
                seen.times[Time::Hold].count = 100;
                seen.counts[Count::LocksLost] = number;
            })
        };
        assert_eq!(lost(5), None, "a machine may be slow once");
        assert_eq!(lost(6), Some(Letter::D));
    }

    #[test]
    fn an_acquire_must_be_answered_soon_after_its_timeout() {
        let longest = |time: Duration| {
            says(answers, move |seen| {
                seen.times[Time::ACQUIRES[0]].max = in_micros(time);
            })
        };
        // The timeout of an acquire is two seconds.
        assert_eq!(longest(Duration::from_secs(4)), None);
        assert_eq!(longest(Duration::from_millis(4_001)), Some(Letter::D));
        assert_eq!(longest(Duration::from_millis(6_999)), Some(Letter::D));
        assert_eq!(longest(Duration::from_hours(1)), Some(Letter::F));
    }
}
