//! How often a section goes on after its lock has expired.

use super::chance::{Basis, Chance};
use super::elapsed;
use super::formulas::reliable;
use super::measured::Bound;
use super::pauses::Pauses;
use super::question::Question;
use super::setting::Setting;
use super::spread::Spread;

/// The steps in which a pause is tried between two renewals.
const STEPS: u32 = 64;

/// The probability that one section outlasts its lock: by its own length, or because its app server pauses.
///
/// Without renewal that is P(hold > reliable − elapsed), where elapsed is the time from the first command to the quorum's reply, and
/// for pauses the same with a pause in the section. With renewal a section may be as long as it likes, and only a pause that
/// is longer than what the last renewal has left makes it outlast its lock, or a renewal that a quorum answers too late. Of several
/// pauses in one section without renewal, one is drawn, and those beyond the first take their mean, which is exact as long as pauses
/// are rarer than sections.
pub(super) fn of_section(question: &Question, setting: &Setting) -> Chance {
    let reliable = reliable(setting.ttl.as_secs_f64());
    let elapsed = granted(question, reliable);
    let over = |bound| match setting.interval() {
        None => (
            average(&elapsed, |elapsed| question.hold.beyond_at(reliable - elapsed, bound)),
            match question.pauses.in_holds {
                true => 0.0,
                false => average(&elapsed, |elapsed| paused(question, reliable - elapsed, bound)),
            },
        ),
        Some(interval) => (
            0.0,
            average(&elapsed, |elapsed| {
                paused_between(question, reliable - elapsed, interval, bound)
            }),
        ),
    };
    let mid = over(Bound::Mid);
    let is_measured = |spread: &Spread| matches!(spread, Spread::Measured(_));
    // What is assumed has no interval.
    let (low, high) = match is_measured(&question.hold) || is_measured(&question.pauses.length) {
        true => (over(Bound::Low), over(Bound::High)),
        false => (mid, mid),
    };
    let part = |of: fn((f64, f64)) -> f64, basis: Basis| Chance {
        p: of(mid),
        low: of(low),
        high: of(high),
        basis,
    };
    let sections_with_a_pause = pauses_in(&question.pauses, question.hold.mean());
    let one_pause = if sections_with_a_pause > 0.0 {
        mid.1 / sections_with_a_pause
    } else {
        0.0
    };
    let by_length = match setting.interval() {
        None => part(|parts| parts.0, question.hold.basis_of(mid.0)),
        // A renewed section may be as long as it likes, if the renewals come in time.
        Some(interval) => Chance::assumed(late_renewal(question, reliable, interval)),
    };
    let counts = sections_with_a_pause > 0.0 && (setting.interval().is_some() || !question.pauses.in_holds);
    let by_pause = match counts {
        true => part(|parts| parts.1, question.pauses.length.basis_of(one_pause)),
        false => Chance::assumed(0.0),
    };
    by_length + by_pause
}

/// The times until a quorum has answered of the acquires that are granted: an answer that comes when nothing is left of the
/// validity grants nothing.
fn granted(question: &Question, reliable: f64) -> Vec<(f64, f64)> {
    let mut times = elapsed::until_quorum(&question.round_trip, question.nodes);
    times.retain(|(time, _)| *time < reliable);
    let all: f64 = times.iter().map(|(_, weight)| weight).sum();
    for (_, weight) in &mut times {
        *weight /= all;
    }
    times
}

fn average(times: &[(f64, f64)], of: impl Fn(f64) -> f64) -> f64 {
    times.iter().map(|&(time, weight)| of(time) * weight).sum()
}

/// The probability of a pause within so many seconds.
fn pauses_in(pauses: &Pauses, seconds: f64) -> f64 {
    happens(pauses.per_second * seconds)
}

/// The probability that what happens so often on average, independently of each other, happens at all.
fn happens(often: f64) -> f64 {
    -(-often).exp_m1()
}

/// The probability that a renewal of a section comes too late: the quorum must answer it before the lock's validity, which the one
/// before gave, has ended.
fn late_renewal(question: &Question, reliable: f64, interval: f64) -> f64 {
    /// What rounding leaves of a sum of weights.
    const NOTHING: f64 = 1e-15;
    let one = elapsed::beyond(&question.round_trip, question.nodes, reliable - interval);
    let part = |&(hold, weight): &(f64, f64)| (1.0 - (1.0 - one).powf((hold / interval).floor())) * weight;
    let all: f64 = question.holds.iter().map(part).sum();
    if all < NOTHING { 0.0 } else { all }
}

/// A section that would end within `left`, but a pause in it lasts longer than it can.
fn paused(question: &Question, left: f64, bound: Bound) -> f64 {
    if question.pauses.per_second <= 0.0 {
        return 0.0;
    }
    let pauses = &question.pauses;
    let part = |&(hold, weight): &(f64, f64)| {
        if hold >= left {
            return 0.0;
        }
        let often = pauses.per_second * hold;
        // Where pauses are not rare, those beyond the first one take their mean.
        let others = (often - 1.0).max(0.0) * pauses.length.mean();
        let outlasts = pauses.length.beyond_at(left - hold - others, bound);
        happens(often * outlasts) * weight
    };
    question.holds.iter().map(part).sum()
}

/// A section of a renewed lock in which a pause lasts longer than what the last renewal has left.
fn paused_between(question: &Question, left: f64, interval: f64, bound: Bound) -> f64 {
    let length = &question.pauses.length;
    if question.pauses.per_second <= 0.0 {
        return 0.0;
    }
    // The mean, over the first k steps of an interval, of the probability that a pause there lasts too long.
    let mut means = Vec::with_capacity(STEPS as usize);
    let mut sum = 0.0;
    for step in 0..STEPS {
        let age = interval * (f64::from(step) + 0.5) / f64::from(STEPS);
        sum += length.beyond_at(left - age, bound);
        means.push(sum / f64::from(step + 1));
    }
    // The loop ran at least once.
    let whole = means.last().copied().unwrap_or(0.0);
    let mean_within = |hold: f64| {
        let rest = (hold % interval) / interval;
        let full = (hold / interval).floor() * interval;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a step of an interval"
        )]
        let step = (rest * f64::from(STEPS)) as usize;
        let partly = means.get(step.min(STEPS as usize - 1)).copied().unwrap_or(whole);
        if hold > 0.0 {
            (whole * full + partly * rest * interval) / hold
        } else {
            0.0
        }
    };
    let part = |&(hold, weight): &(f64, f64)| happens(question.pauses.per_second * hold * mean_within(hold)) * weight;
    question.holds.iter().map(part).sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rand::SeedableRng;
    use rand::rngs::SmallRng;
    use rand_distr::{Distribution, Exp, LogNormal};

    use super::*;
    use crate::formulas::pause_outlasts;
    use crate::setting::Renewal;

    fn log_normal(median: f64, sigma: f64) -> Spread {
        Spread::LogNormal { median, sigma }
    }

    fn setting(ttl_ms: u64, renewal: Renewal) -> Setting {
        Setting {
            ttl: Duration::from_millis(ttl_ms),
            renewal,
        }
    }

    /// FACTS of TTLs: log-normal holds, median 20 ms, sigma 0.6.
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

    /// Draws sections and pauses one by one: another way to the same figures.
    fn simulated(question: &Question, setting: &Setting, seed: u64) -> f64 {
        const SECTIONS: u32 = 400_000;
        let mut random = SmallRng::seed_from_u64(seed);
        let draw = |spread: &Spread, random: &mut SmallRng| match spread {
            Spread::Constant(always) => *always,
            Spread::LogNormal { median, sigma } => LogNormal::new(median.ln(), *sigma).expect("a sigma").sample(random),
            Spread::Measured(_) => unreachable!("not drawn here"),
        };
        let next_pause = Exp::new(question.pauses.per_second).expect("a rate");
        let reliable = reliable(setting.ttl.as_secs_f64());
        let overran = (0..SECTIONS).filter(|_| {
            let hold = draw(&question.hold, &mut random);
            let pause_at = next_pause.sample(&mut random);
            let pause = draw(&question.pauses.length, &mut random);
            let elapsed = draw(&question.round_trip, &mut random);
            let paused = pause_at < hold;
            match setting.interval() {
                None => hold + if paused { pause } else { 0.0 } > reliable - elapsed,
                Some(interval) => paused && pause > reliable - elapsed - pause_at % interval,
            }
        });
        overran.count() as f64 / f64::from(SECTIONS)
    }

    #[test]
    fn pauses_with_and_without_renewal_come_out_as_when_they_are_drawn_one_by_one() {
        let mut question = Question::new(log_normal(0.5, 0.4), Spread::Constant(0.005), 1);
        question.pauses.per_second = 0.1;
        question.pauses.length = log_normal(1.0, 0.7);
        for renewal in [Renewal::Off, Renewal::Fraction(2), Renewal::Fraction(3)] {
            for ttl in [600, 1000, 1500] {
                let setting = setting(ttl, renewal);
                let (p, drawn) = (of_section(&question, &setting).p, simulated(&question, &setting, ttl));
                // Four standard errors, and 2 % for the steps of the sums.
                let error = 4.0 * (drawn / 400_000.0).sqrt() + 0.02 * drawn;
                assert!(
                    (p - drawn).abs() < error,
                    "{renewal} of {ttl} ms: {p}, drawn {drawn} ± {error}"
                );
            }
        }
    }

    #[test]
    fn of_a_long_section_a_pause_of_one_length_comes_out_as_its_closed_form() {
        let mut question = Question::new(Spread::Constant(500.0), Spread::Constant(1e-9), 1);
        question.pauses.per_second = 1e-5;
        for pause in [0.3, 0.45, 0.5, 0.55] {
            question.pauses.length = Spread::Constant(pause);
            let p = of_section(&question, &setting(600, Renewal::Fraction(3))).p;
            let expected = pauses_in(&question.pauses, 500.0) * pause_outlasts(pause, reliable(0.6), 0.2);
            // The steps between two renewals.
            assert!(
                (p - expected).abs() <= 0.02 * 5e-3,
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
        let measured = crate::Measured::of_values(values).expect("enough values");
        let question = Question::new(Spread::Measured(measured), Spread::Constant(0.0001), 1);
        let seen = of_section(&question, &setting(20, Renewal::Off));
        assert_eq!(seen.basis, Basis::Measured(1000));
        assert!(seen.low < seen.p && seen.p < seen.high, "{seen:?}");
        assert!(of_section(&question, &setting(30, Renewal::Off)).is_extrapolated());
    }
}
