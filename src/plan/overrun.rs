//! How often a section goes on after its lock has expired.

use std::ops::Add;

use super::bins::mean;
use super::chance::Chance;
use super::elapsed;
use super::formulas::reliable;
use super::measured::Bound;
use super::pauses::{Outages, Pauses};
use super::question::Question;
use super::renewed;
use super::setting::Setting;
use super::several;
use super::spread::Spread;
use lockstorm_data::metrics::units::rounded;

/// The probability that one section outlasts its lock: by its own length, because its app server pauses, or because its renewals fail.
///
/// Without renewal that is P(hold > reliable − elapsed), where elapsed is the time from the first command to the quorum's reply, and
/// for pauses the same with a pause in the section. With renewal a section may be as long as it likes, and only a pause that
/// is longer than what the last renewal has left makes it outlast its lock, a renewal that a quorum answers too late, or one outage or two
/// in which all renewals fail that the lock has left. Several pauses in one section without renewal add up ([`several`]).
///
/// `times` are those [until a quorum has answered](elapsed::until_quorum).
pub(super) fn of_section(question: &Question, times: &[(f64, f64)], setting: &Setting) -> Chance {
    let reliable = reliable(setting.ttl.as_secs_f64());
    let granted = granted(times, reliable);
    let left = |of: &dyn Fn(f64) -> f64| mean(&granted, |elapsed| of(reliable - elapsed));
    let pauses = Some(&question.pauses).filter(|pauses| pauses.per_second > 0.0);
    match setting.interval() {
        None => {
            let by_length = rested(&question.hold, 1.0, |bound| {
                left(&|left| question.hold.beyond_at(left, bound))
            });
            // How long the quorum takes hardly matters to how many of the sections end before.
            let usual = left(&|left| left);
            let by_pause = pauses.filter(|pauses| !pauses.in_holds).map(|pauses| {
                let holds = question.hold.values_up_to(usual);
                rested(&pauses.length, sections_hit(question, pauses.per_second), |bound| {
                    left(&|left| paused(&holds, pauses, left, bound)) + paused_often(&holds, pauses, usual, bound)
                })
            });
            by_pause.into_iter().fold(by_length, Chance::or)
        }
        Some(interval) => {
            let late = elapsed::beyond(&question.round_trip, question.nodes, reliable - interval);
            let by_late_renewal = Chance::assumed(renewed::some_fails(question, interval, late));
            // The longer an answer takes, the more pauses begin before it.
            let awaited: Vec<(f64, f64)> = granted.iter().map(|&(time, weight)| (time, time * weight)).collect();
            let by_pause = pauses.map(|pauses| {
                rested(&pauses.length, sections_hit(question, pauses.per_second), |bound| {
                    let again = mean(&awaited, |time| {
                        paused_again(pauses, [reliable - time, interval], bound)
                    });
                    left(&|left| paused_between(question, pauses, left, interval, bound))
                        + happens(question.hold.mean() * pauses.per_second.powi(2) * again)
                })
            });
            let by_outage = question.outages.as_ref().map(|outages| {
                let rate = outages.per_second;
                rested(&outages.length, sections_hit(question, rate), |bound| {
                    left(&|left| without_quorum(question, outages, left, interval, bound))
                })
            });
            [by_pause, by_outage]
                .into_iter()
                .flatten()
                .fold(by_late_renewal, Add::add)
        }
    }
}

/// A chance that follows from how long something lasts which so many of the sections meet: with the interval of what was measured, and
/// without one of what was assumed.
fn rested(length: &Spread, met: f64, of: impl Fn(Bound) -> f64) -> Chance {
    let p = of(Bound::Mid);
    let (low, high) = match length {
        Spread::Measured(_) => (of(Bound::Low), of(Bound::High)),
        _ => (p, p),
    };
    Chance {
        p,
        low,
        high,
        basis: length.basis_of(if met > 0.0 { p / met } else { 0.0 }),
    }
}

/// How many of the sections meet what happens so often a second.
fn sections_hit(question: &Question, per_second: f64) -> f64 {
    happens(per_second * question.hold.mean())
}

/// The times until a quorum has answered of the acquires that are granted: an answer that comes when nothing is left of the
/// validity grants nothing.
fn granted(times: &[(f64, f64)], reliable: f64) -> Vec<(f64, f64)> {
    let mut times = times.to_vec();
    times.retain(|(time, _)| *time < reliable);
    let all: f64 = times.iter().map(|(_, weight)| weight).sum();
    for (_, weight) in &mut times {
        *weight /= all;
    }
    times
}

/// The probability that what happens so often on average, independently of each other, happens at all.
fn happens(often: f64) -> f64 {
    -(-often).exp_m1()
}

/// A section that would end within `left`, but a pause in it lasts longer than it can.
fn paused(holds: &[(f64, f64)], pauses: &Pauses, left: f64, bound: Bound) -> f64 {
    let shorter = &holds[..holds.partition_point(|(hold, _)| *hold < left)];
    mean(shorter, |hold| {
        happens(pauses.per_second * hold * pauses.length.beyond_at(left - hold, bound))
    })
}

/// A section that would end within `left`, but several pauses in it last longer together than it can, and none of them alone.
fn paused_often(holds: &[(f64, f64)], pauses: &Pauses, left: f64, bound: Bound) -> f64 {
    mean(holds, |hold| {
        several::are_too_long(&pauses.length, pauses.per_second * hold, left - hold, bound)
    })
}

/// A section of a renewed lock in which a pause lasts longer than what the last renewal has left.
fn paused_between(question: &Question, pauses: &Pauses, left: f64, interval: f64, bound: Bound) -> f64 {
    // For how many of the first `seconds` after a renewal a pause that begins then lasts too long, on average.
    let excess = pauses.length.excess(left, bound);
    let too_long = |seconds: f64| pauses.length.excess(left - seconds, bound) - excess;
    let whole = too_long(interval);
    mean(&question.holds, |hold| {
        let intervals = (hold / interval).floor();
        happens(pauses.per_second * (whole * intervals + too_long(hold - intervals * interval)))
    })
}

/// How probable it is that a pause is survived, and that one which begins before the renewal behind it is answered is not: both together
/// last longer than the `left` of the last renewal.
fn paused_again(pauses: &Pauses, [left, interval]: [f64; 2], bound: Bound) -> f64 {
    /// Ages of the last renewal at which the first pause begins.
    const AGES: u32 = 8;
    let of_age = |age: f64| {
        let rest = left - age;
        // A shorter one ends before a renewal is due.
        pauses.length.sum_up_to(rest, |first| match first + age >= interval {
            true => pauses.length.beyond_at(rest - first, bound),
            false => 0.0,
        })
    };
    let ages = (0..AGES).map(|n| (f64::from(n) + 0.5) / f64::from(AGES) * interval);
    ages.map(of_age).sum::<f64>() / f64::from(AGES)
}

/// A section of a renewed lock that still runs when its lock expires because no quorum could be reached for its renewals. They are
/// tried every `interval`: an outage does no harm that ends before the last try within `left` of the last success.
fn without_quorum(question: &Question, outages: &Outages, left: f64, interval: f64, bound: Bound) -> f64 {
    let tries = (left / interval).floor();
    let excess = |seconds| outages.length.excess(seconds, bound);
    // For how many of the seconds between two renewals an outage that begins then lasts too long, on average.
    let too_long = excess((tries - 1.0) * interval) - excess(tries * interval);
    let together = two_without_quorum(outages, left, interval, bound);
    mean(&question.holds, |hold| {
        // A section that ends before its lock would expire needs no further renewal.
        let exposed = ((hold - left) / interval).ceil().max(0.0);
        happens(outages.per_second * exposed * (too_long + outages.per_second * interval * together))
    })
}

/// For how many of the seconds after it an outage has another one before it, which begins within the same second, so that all tries
/// within `left` of the last success fail through both, and through none of them alone. That is the sum over the n tries that fail through
/// the first one: it begins before the first of them, and the second one before the next try, and lasts to the last one. Outages begin at
/// any time, also during others.
fn two_without_quorum(outages: &Outages, left: f64, interval: f64, bound: Bound) -> f64 {
    /// More tries than this are taken in groups.
    const TRIES: f64 = 256.0;
    let interval = interval * (left / interval / TRIES).ceil().max(1.0);
    let tries = rounded((left / interval).floor());
    let excess = |tries: u64| outages.length.excess(tries as f64 * interval, bound);
    // For how many seconds an outage can have begun that so many tries fail through, or more.
    let begun = |tries: u64| excess(tries - 1) - excess(tries);
    let of = |first: u64| (begun(first) - begun(first + 1)) * (excess(tries - first - 1) - excess(tries - 1));
    (1..tries).map(of).sum::<f64>() / interval
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::chance::Basis;
    use crate::formulas::pause_outlasts;
    use crate::setting::Renewal;

    fn log_normal(median: f64, sigma: f64) -> Spread {
        Spread::LogNormal { median, sigma }
    }

    fn of_section(question: &Question, setting: &Setting) -> Chance {
        let times = elapsed::until_quorum(&question.round_trip, question.nodes);
        super::of_section(question, &times, setting)
    }

    fn setting(ttl_ms: u64, renewal: Renewal) -> Setting {
        Setting {
            ttl: Duration::from_millis(ttl_ms),
            renewal,
        }
    }

    /// As measured on real nodes, for log-normal holds, median 20 ms, sigma 0.6.
    #[test]
    fn the_measured_cases_come_out_as_measured() {
        let question = Question::new(log_normal(0.020, 0.6), Spread::Constant(0.0001), 3);
        for (ttl, measured) in [(30, 0.298), (50, 0.070), (80, 0.0115)] {
            let p = of_section(&question, &setting(ttl, Renewal::Off)).p;
            assert!((p / measured - 1.0).abs() < 0.15, "{ttl} ms: {p}, measured {measured}");
        }
    }

    #[test]
    fn the_time_until_the_quorum_answers_is_lost_for_the_section() {
        let near = Question::new(log_normal(0.020, 0.6), Spread::Constant(0.0001), 3);
        let far = Question::new(log_normal(0.020, 0.6), Spread::Constant(0.020), 3);
        let p = |question| of_section(question, &setting(80, Renewal::Off)).p;
        assert!((p(&far) / near.hold.beyond(0.0772 - 0.020).p - 1.0).abs() < 1e-6 && p(&far) > 2.0 * p(&near));
    }

    #[test]
    fn of_a_long_section_a_pause_of_one_length_comes_out_as_its_closed_form() {
        let mut question = Question::new(Spread::Constant(500.0), Spread::Constant(1e-9), 1);
        question.pauses.per_second = 1e-5;
        for pause in [0.3, 0.45, 0.5, 0.55] {
            question.pauses.length = Spread::Constant(pause);
            let p = of_section(&question, &setting(600, Renewal::Fraction(3))).p;
            let expected = happens(1e-5 * 500.0 * pause_outlasts(pause, reliable(0.6), 0.2));
            assert!(
                (p - expected).abs() <= 1e-6 * 5e-3,
                "{pause} s: {p}, {expected} expected"
            );
        }
    }

    #[test]
    fn without_pauses_a_renewed_lock_never_overruns_and_what_rests_on_a_tail_says_so() {
        let question = Question::new(log_normal(0.5, 0.4), Spread::Constant(0.005), 1);
        assert_eq!(
            of_section(&question, &setting(600, Renewal::Fraction(3))),
            Chance::assumed(0.0)
        );
        // Every renewal comes too late if the round trip is longer than what an interval leaves.
        let late = Question::new(log_normal(0.5, 0.4), Spread::Constant(0.030), 3);
        let every = |millis| {
            let interval = Duration::from_millis(millis);
            of_section(&late, &setting(300, Renewal::Every(interval))).p
        };
        assert!(every(290) > 0.9 && every(200) <= 0.0, "{} {}", every(290), every(200));
        let values = (0..1000).map(|n| 0.010 + f64::from(n) * 1e-5).collect();
        let measured = crate::Measured::of_values(values, None).expect("enough values");
        let question = Question::new(Spread::Measured(measured), Spread::Constant(0.0001), 1);
        let seen = of_section(&question, &setting(20, Renewal::Off));
        assert_eq!(seen.basis, Basis::Measured(1000));
        assert!(seen.low < seen.p && seen.p < seen.high, "{seen:?}");
        assert!(of_section(&question, &setting(30, Renewal::Off)).is_extrapolated());
    }
}
