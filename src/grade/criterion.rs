//! What is asked of a client, of what a run has found.

use std::time::Duration;

use super::letter::{Letter, Mark};
use lockstorm_data::metrics::units::{count, counted, micros};
use lockstorm_data::metrics::{Count, Figures, Outage, Time};
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
    /// The 99th percentile of its acquires while nothing failed, in microseconds, if that was played.
    pub healthy_p99: Option<u64>,
}

/// A question; `None`: it is as it should be.
pub(crate) type Criterion = fn(&Seen<'_>) -> Option<Mark>;

/// How much later than its timeout an acquire may be answered.
const LATE: Duration = Duration::from_secs(2);
/// How long nobody may be granted a lock longer than the fault itself explains, for a B and for a C, in microseconds.
const SOON: u64 = 1_500_000;
const LATER: u64 = 4_000_000;
/// How much slower than usual acquires may be while one of several nodes is slow, in microseconds.
const SLOWER: u64 = 200_000;

#[expect(clippy::unnecessary_wraps, reason = "criteria end with it")]
const fn mark(letter: Letter, why: String) -> Option<Mark> {
    Some(Mark::new(letter, why))
}

/// Locks are granted at all.
pub(crate) fn works(seen: &Seen<'_>) -> Option<Mark> {
    match seen.figures.outcomes.acquired {
        0 => mark(Letter::F, "no lock was ever acquired".to_owned()),
        _ => None,
    }
}

/// No two hold a lock at once.
pub(crate) fn exclusion(seen: &Seen<'_>) -> Option<Mark> {
    let Figures {
        double_holds,
        law_violations,
        unjudged,
        ..
    } = *seen.figures;
    let twice = counted(double_holds, "lock was", "locks were");
    match () {
        () if law_violations > 0 => mark(
            Letter::F,
            format!(
                "{twice} held by two, {} of them although no node had lost a key",
                count(law_violations)
            ),
        ),
        () if unjudged > 0 => mark(
            Letter::C,
            format!("{twice} held by two; whether lost keys explain it is not known"),
        ),
        () if double_holds > 0 => mark(
            Letter::C,
            format!("{twice} held by two: the nodes had lost the keys of the first"),
        ),
        () => None,
    }
}

/// What the lock guards is unharmed, if nobody else held the lock.
pub(crate) fn damage(seen: &Seen<'_>) -> Option<Mark> {
    let Figures {
        lost_updates_peak: lost,
        double_holds,
        ..
    } = *seen.figures;
    (lost > 0 && double_holds == 0).then(|| {
        let lost = counted(lost, "update was", "updates were");
        Mark::new(
            Letter::D,
            format!("{lost} lost: work was written after its lock had ended"),
        )
    })
}

/// Whoever asks for a lock hears something in time.
pub(crate) fn answers(seen: &Seen<'_>) -> Option<Mark> {
    let timeout = seen.arm.timeout;
    let longest = Time::ACQUIRES.iter().map(|time| seen.figures.times[*time].max).max()?;
    let (asked, took) = (micros(in_micros(timeout)), micros(longest));
    match () {
        () if longest >= in_micros(timeout + GRACE + seen.still) => mark(
            Letter::F,
            format!("an acquire with a timeout of {asked} was not answered within {took}"),
        ),
        () if longest > in_micros(timeout + LATE + seen.still) => mark(
            Letter::D,
            format!("an acquire with a timeout of {asked} was answered after {took}"),
        ),
        () => None,
    }
}

/// In the end every lock can be had.
pub(crate) fn stuck(seen: &Seen<'_>) -> Option<Mark> {
    match seen.figures.stuck {
        Some(0) => None,
        Some(stuck) => {
            let locks = counted(stuck, "lock", "locks");
            mark(
                Letter::F,
                format!("{locks} could not be acquired any more a second after the TTL"),
            )
        }
        None => mark(
            Letter::Unknown,
            "whether every lock can be had in the end was not tried".to_owned(),
        ),
    }
}

/// A lock that is held is told as that.
pub(crate) fn busy_is_told(seen: &Seen<'_>) -> Option<Mark> {
    let outcomes = &seen.figures.outcomes;
    let wrong = outcomes.no_quorum + outcomes.unknown;
    (wrong * 100 > outcomes.acquired + outcomes.contended).then(|| {
        Mark::new(
            Letter::C,
            format!(
                "{} were told as an outage, or not known, although the lock was only busy",
                refusals(wrong)
            ),
        )
    })
}

/// An outage is told as that.
pub(crate) fn outage_is_told(seen: &Seen<'_>) -> Option<Mark> {
    let outcomes = &seen.figures.outcomes;
    let told = outcomes.no_quorum + outcomes.unknown;
    (told == 0 && outcomes.contended > 0).then(|| {
        Mark::new(
            Letter::C,
            format!(
                "{} said that somebody holds the lock, and none that nodes are missing",
                refusals(outcomes.contended)
            ),
        )
    })
}

/// Once the fault is over, locks are granted again soon.
pub(crate) fn recovers(seen: &Seen<'_>) -> Option<Mark> {
    let Outage { lasted_us, over, .. } = seen.figures.longest_outage();
    let beyond = lasted_us.saturating_sub(in_micros(seen.fault));
    let took = micros(lasted_us);
    match () {
        () if !over && lasted_us > 0 => mark(
            Letter::F,
            format!("after the fault no lock was granted any more ({took})"),
        ),
        () if beyond <= SOON => None,
        () if beyond <= LATER => mark(Letter::B, format!("no lock was granted for {took}")),
        () => mark(Letter::D, format!("no lock was granted for {took}")),
    }
}

/// One slow or missing node of several does not slow everybody down.
pub(crate) fn one_of_many(seen: &Seen<'_>) -> Option<Mark> {
    if seen.nodes == 1 {
        return None;
    }
    let Some(healthy) = seen.healthy_p99 else {
        return mark(
            Letter::Unknown,
            "how fast it is if nothing fails was not played: add --only healthy".to_owned(),
        );
    };
    let now = seen.figures.acquire_us.p99;
    if now <= healthy + SLOWER {
        return None;
    }
    let letter = if now <= healthy + 5 * SLOWER {
        Letter::B
    } else {
        Letter::C
    };
    mark(
        letter,
        format!(
            "with one of {} nodes away or slow, an acquire takes {} (p99) instead of {}",
            seen.nodes,
            micros(now),
            micros(healthy)
        ),
    )
}

/// Locks last as long as they are renewed.
pub(crate) fn renewed(seen: &Seen<'_>) -> Option<Mark> {
    let lost = seen.figures.counts[Count::LocksLost].max(seen.figures.counts[Count::Overran]);
    let sections = seen.figures.sections();
    (lost * 50 > sections).then(|| {
        Mark::new(
            Letter::D,
            format!(
                "{} of {} locks were lost although they are renewed",
                count(lost),
                count(sections)
            ),
        )
    })
}

/// Where locks end before their sections do: a holder is told, so that no two hold a lock at once.
pub(crate) fn end_is_told(seen: &Seen<'_>) -> Option<Mark> {
    match seen.figures.double_holds {
        0 => None,
        twice => mark(
            Letter::D,
            format!(
                "{} held by two: they had expired, and their holders heard nothing of it while they worked",
                counted(twice, "lock was", "locks were")
            ),
        ),
    }
}

fn refusals(number: u64) -> String {
    counted(number, "refusal", "refusals")
}

fn in_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
