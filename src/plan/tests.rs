//! Every figure of a row against sections that are drawn one by one: another way to the same figures, which shares no formula with
//! them but the definition of [`formulas::reliable`](crate::formulas::reliable).

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp, LogNormal, Uniform};

use super::answer::Plan;
use super::formulas::reliable;
use super::pauses::{Outages, Pauses};
use super::question::Question;
use super::row::Row;
use super::setting::{Renewal, Setting};
use super::spread::Spread;
use lockstorm_data::metrics::units::rounded;

fn draw(spread: &Spread, random: &mut SmallRng) -> f64 {
    match spread {
        Spread::Constant(always) => *always,
        Spread::Uniform { least, most } => Uniform::new(least, most).expect("a range").sample(random),
        Spread::LogNormal { median, sigma } => LogNormal::new(median.ln(), *sigma).expect("a sigma").sample(random),
        Spread::Measured(_) => unreachable!("not drawn here"),
    }
}

/// The time until a quorum has answered.
fn quorum(question: &Question, random: &mut SmallRng) -> f64 {
    let mut times = [0.0; 9];
    let times = &mut times[..question.nodes];
    times.fill_with(|| draw(&question.round_trip, random));
    times.sort_unstable_by(f64::total_cmp);
    times[question.nodes / 2]
}

/// When the first of events that come so often comes, if one comes within `within`; and how probable that is.
fn first_within(per_second: f64, within: f64, random: &mut SmallRng) -> (f64, f64) {
    let some = -(-per_second * within).exp_m1();
    (-(-random.random::<f64>() * some).ln_1p() / per_second, some)
}

/// The probability that one of the events that come so often in a section does harm, given when they came after the first one.
fn some_within(
    per_second: f64,
    hold: f64,
    does_harm: impl Fn(f64, &mut SmallRng) -> bool,
    random: &mut SmallRng,
) -> f64 {
    let (mut at, some) = first_within(per_second, hold, random);
    while at < hold {
        if does_harm(at, random) {
            return some;
        }
        at += Exp::new(per_second).expect("a rate").sample(random);
    }
    0.0
}

/// The probability that a section overran which was drawn, given what happened by chance in it: 0 or 1, or between if some things
/// that are rare were made to happen.
fn overran(question: &Question, setting: &Setting, elapsed: f64, random: &mut SmallRng) -> f64 {
    let (left, hold) = (
        reliable(setting.ttl.as_secs_f64()) - elapsed,
        draw(&question.hold, random),
    );
    let Some(interval) = setting.interval() else {
        let alone = f64::from(u8::from(hold > left));
        if question.pauses.per_second <= 0.0 {
            return alone;
        }
        let rate = question.pauses.per_second;
        let (mut at, some) = first_within(rate, hold, random);
        let mut all = hold;
        while at < hold {
            all += draw(&question.pauses.length, random);
            at += Exp::new(rate).expect("a rate").sample(random);
        }
        return (1.0 - some) * alone + some * f64::from(u8::from(all > left));
    };
    let tries = rounded((left / interval).floor());
    let mut not = 1.0;
    if question.pauses.per_second > 0.0 {
        let too_long = |at: f64, random: &mut SmallRng| draw(&question.pauses.length, random) > left - at % interval;
        not *= 1.0 - some_within(question.pauses.per_second, hold, too_long, random);
    }
    if let Some(outages) = &question.outages {
        let (mut at, some) = first_within(outages.per_second, hold, random);
        let mut down = Vec::new();
        while at < hold {
            down.push(at..at + draw(&outages.length, random));
            at += Exp::new(outages.per_second).expect("a rate").sample(random);
        }
        let is_up = |at: &f64| !down.iter().any(|outage| outage.contains(at));
        let (mut renewed, mut is_over) = (0.0, false);
        while renewed + left < hold && !is_over {
            let next = (1..=tries).map(|n| renewed + n as f64 * interval).find(is_up);
            (renewed, is_over) = (next.unwrap_or(renewed), next.is_none());
        }
        not *= 1.0 - if is_over { some } else { 0.0 };
    }
    // Each renewal must be answered within what the one before has left; all answers of a constant round trip are as quick as the first.
    let mut renewals = match question.round_trip {
        Spread::Constant(_) => 1.0,
        _ => hold / interval,
    };
    while renewals >= 1.0 && not > 0.0 {
        if quorum(question, random) > left + elapsed - interval {
            not = 0.0;
        }
        renewals -= 1.0;
    }
    1.0 - not
}

/// What is seen of so many sections.
struct Drawn {
    overrun: f64,
    takeover: f64,
    renewals: f64,
}

fn drawn(question: &Question, setting: &Setting, sections: u32, seed: u64) -> Drawn {
    let mut random = SmallRng::seed_from_u64(seed);
    let ttl = setting.ttl.as_secs_f64();
    let (mut granted, mut over) = (0.0, 0.0);
    let (mut held, mut waited, mut renewals) = (0.0, 0.0, 0.0);
    for _ in 0..sections {
        let elapsed = quorum(question, &mut random);
        if elapsed < reliable(ttl) {
            granted += 1.0;
            over += overran(question, setting, elapsed, &mut random);
        }
        // A crash hits a section as often as it is long, anywhere in it.
        let hold = draw(&question.hold, &mut random);
        let age = hold * random.random::<f64>();
        let since = setting.interval().map_or(age, |interval| age % interval);
        held += hold;
        waited += hold * (ttl - since).max(0.0);
        renewals += setting.interval().map_or(0.0, |interval| (hold / interval).floor());
    }
    Drawn {
        overrun: over / granted,
        takeover: waited / held,
        renewals: renewals / f64::from(sections),
    }
}

fn near(what: &str, figure: f64, drawn: f64) {
    let apart = (figure / drawn - 1.0).abs();
    assert!(
        apart <= 0.01 || figure.max(drawn) <= 1e-12,
        "{what}: {figure:e}, drawn {drawn:e}, {:.2} % apart",
        apart * 100.0
    );
}

#[test]
fn two_outages_close_together_outlast_a_lock_that_survives_each_of_them() {
    let mut question = Question::new(Spread::Constant(1200.0), Spread::Constant(0.000_4), 3);
    let setting = Setting {
        ttl: Duration::from_secs(45),
        renewal: Renewal::Every(Duration::from_secs(5)),
    };
    for length in [
        Spread::Constant(30.0),
        Spread::Uniform {
            least: 10.0,
            most: 35.0,
        },
    ] {
        question.outages = Some(Outages {
            per_second: 1.0 / 3600.0,
            length,
        });
        let figure = Plan::of(question.clone(), &[setting]).rows[0].overrun.p;
        let drawn = drawn(&question, &setting, 1_000_000, 7).overrun;
        // What three of them do is left out.
        assert!((figure / drawn - 1.0).abs() < 0.05, "{figure:e}, drawn {drawn:e}");
    }
}

/// Compares each of these settings with what is drawn.
fn compare(question: &Question, settings: &[(u64, Renewal)], sections: u32) {
    let settings = settings.iter().map(|&(ttl, renewal)| Setting {
        ttl: Duration::from_millis(ttl),
        renewal,
    });
    let plan = Plan::of(question.clone(), &settings.collect::<Vec<_>>());
    std::thread::scope(|scope| {
        for row in &plan.rows {
            scope.spawn(|| {
                let Row { setting, .. } = row;
                let drawn = drawn(question, setting, sections, setting.ttl.as_secs());
                let what = |figure: &str| format!("{figure} of {} {}", setting.ttl.as_secs_f64(), setting.renewal);
                near(&what("P(overrun)"), row.overrun.p, drawn.overrun);
                near(&what("takeover"), row.takeover_mean, drawn.takeover);
                near(
                    &what("renewals"),
                    row.renewals_per_second / question.per_second,
                    drawn.renewals,
                );
            });
        }
    });
}

fn log_normal(median: f64, sigma: f64) -> Spread {
    Spread::LogNormal { median, sigma }
}

const THIRD: Renewal = Renewal::Fraction(3);
const HALF: Renewal = Renewal::Fraction(2);
const OFF: Renewal = Renewal::Off;

#[test]
fn short_sections_without_pauses() {
    let question = Question::new(log_normal(0.020, 0.6), log_normal(0.000_4, 0.4), 3);
    compare(&question, &[(20, OFF), (30, OFF), (50, OFF), (70, OFF)], 3_000_000);
    let far = Question::new(log_normal(0.180, 0.8), log_normal(0.065, 0.15), 5);
    compare(&far, &[(300, OFF), (500, OFF), (700, OFF), (300, HALF)], 2_000_000);
}

#[test]
fn sections_with_pauses() {
    let mut question = Question::new(log_normal(0.180, 0.8), log_normal(0.001_2, 0.4), 3);
    question.pauses = Pauses {
        per_second: 2.0 / 3600.0,
        length: Spread::Uniform { least: 0.0, most: 1.5 },
        in_holds: false,
    };
    compare(
        &question,
        &[
            (500, HALF),
            (1000, HALF),
            (1500, HALF),
            (1200, HALF),
            (500, THIRD),
            (1000, THIRD),
            (1500, THIRD),
            (1200, THIRD),
        ],
        2_000_000,
    );
    question.pauses.length = log_normal(0.3, 1.0);
    compare(
        &question,
        &[
            (700, HALF),
            (1500, HALF),
            (700, THIRD),
            (1500, THIRD),
            (400, OFF),
            (1000, OFF),
        ],
        3_000_000,
    );
}

#[test]
fn sections_in_which_several_pauses_add_up() {
    let of = |hold: Spread, per_minute: f64, length: Spread| {
        let mut question = Question::new(hold, Spread::Constant(0.001), 3);
        question.pauses = Pauses {
            per_second: per_minute / 60.0,
            length,
            in_holds: false,
        };
        question
    };
    // None of these is too long by itself.
    let same = of(Spread::Constant(2.0), 20.0, Spread::Constant(0.3));
    compare(&same, &[(2500, OFF), (2750, OFF), (3000, OFF)], 1_000_000);
    let short = of(Spread::Constant(10.0), 60.0, log_normal(0.02, 1.0));
    compare(&short, &[(10_500, OFF), (11_000, OFF)], 2_000_000);
    let varied = of(log_normal(2.0, 0.5), 20.0, log_normal(0.3, 1.0));
    compare(&varied, &[(5000, OFF), (8000, OFF)], 1_000_000);
    let of_minutes = of(
        Spread::Uniform {
            least: 600.0,
            most: 1500.0,
        },
        1.0,
        Spread::Constant(1.0),
    );
    compare(&of_minutes, &[(1_300_000, OFF), (1_500_000, OFF)], 2_000_000);
}

#[test]
fn a_pause_right_behind_a_pause_comes_before_the_renewal() {
    // None of them is too long by itself; a second one is if it begins before the renewal behind the first is answered.
    let mut question = Question::new(Spread::Constant(10.0), Spread::Constant(0.004), 3);
    question.pauses = Pauses {
        per_second: 0.5,
        length: Spread::Constant(0.5),
        in_holds: false,
    };
    let setting = Setting {
        ttl: Duration::from_secs(1),
        renewal: THIRD,
    };
    let p = Plan::of(question, &[setting]).rows[0].overrun.p;
    // 5 pauses, behind each of which one begins with this probability within 4 ms.
    let closed = 5.0 * 0.5 * 0.004;
    assert!((p / closed - 1.0).abs() < 0.01, "{p}, {closed}");
}

#[test]
fn sections_of_minutes_with_pauses_and_outages() {
    let mut question = Question::new(
        Spread::Uniform {
            least: 600.0,
            most: 1500.0,
        },
        Spread::Constant(0.000_4),
        3,
    );
    question.pauses = Pauses {
        per_second: 1.0 / 3600.0,
        length: log_normal(1.0, 1.0),
        in_holds: false,
    };
    compare(&question, &[(5000, THIRD), (5000, HALF), (10_000, THIRD)], 1_000_000);
    question.pauses.per_second = 0.0;
    question.outages = Some(Outages {
        per_second: 2.0 / (30.0 * 86_400.0),
        length: log_normal(20.0, 1.0),
    });
    let settings = [(5000, THIRD), (30_000, THIRD), (60_000, HALF), (60_000, THIRD)];
    compare(&question, &settings, 400_000);
    let question = Question {
        outages: question.outages,
        ..Question::new(Spread::Constant(40.0), Spread::Constant(0.000_4), 3)
    };
    compare(
        &question,
        &[(20_000, THIRD), (30_000, THIRD), (30_000, HALF), (60_000, HALF)],
        1_000_000,
    );
}
