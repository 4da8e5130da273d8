//! Sections of a setting, played in virtual time by the lock engine's own protocol.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::question::Question;
use super::setting::Setting;
use super::simulated::Simulated;
use super::spread::Spread;
use crate::lock::protocol::{Rules, WINDOW, Wait};
use crate::lock::simulation::{AcquireSettings, Delay, Draw, Freezes, Quantiles, Settings, Span, World};

/// The sections that one world plays. Worlds have seeds of their own, so the result does not depend on the number of threads.
const EACH: u64 = 50_000;
/// App servers in each world, with one worker each, so that a pause meets one section.
const APP_SERVERS: usize = 64;

/// Plays about so many sections on all processors, until `stop` is set. `done` counts the sections as they are played.
#[must_use]
pub fn simulate(
    question: &Question,
    setting: &Setting,
    sections: u64,
    seed: u64,
    stop: &AtomicBool,
    done: &AtomicU64,
) -> Simulated {
    let worlds = sections.div_ceil(EACH);
    let settings = settings(question, setting);
    let next = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut sum = Simulated::default();
        while !stop.load(Ordering::Relaxed) {
            let world = next.fetch_add(1, Ordering::Relaxed);
            if world >= worlds {
                break;
            }
            // Seeds of different calls must not overlap.
            let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(world);
            add(&mut sum, &settings, seed, EACH.min(sections - world * EACH), stop);
            done.fetch_add(EACH, Ordering::Relaxed);
        }
        sum
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        // A thread that panicked has nothing to add; its panic was told.
        let sums = threads.into_iter().filter_map(|thread| thread.join().ok());
        sums.fold(Simulated::default(), |sum, part| Simulated {
            sections: sum.sections + part.sections,
            overran: sum.overran + part.overran,
            events: sum.events + part.events,
            violations: sum.violations + part.violations,
        })
    })
}

/// Plays one world.
fn add(sum: &mut Simulated, settings: &Settings, seed: u64, sections: u64, stop: &AtomicBool) {
    let Ok(mut world) = World::new(settings.clone(), seed) else {
        return;
    };
    // The flag is looked at now and then.
    while world.report().sections < sections && !stop.load(Ordering::Relaxed) {
        for _ in 0..1000 {
            if world.report().sections >= sections || !world.step() {
                break;
            }
        }
    }
    let report = world.report();
    sum.sections += report.sections;
    sum.overran += report.overran;
    sum.events += report.events;
    sum.violations += report.violations.len() as u64;
}

fn settings(question: &Question, setting: &Setting) -> Settings {
    let pauses = &question.pauses;
    let freezes = (pauses.per_second > 0.0).then(|| Freezes {
        // The gaps of a Poisson process.
        every: Draw::Quantiles(Quantiles::of(|p| duration(-p.ln() / pauses.per_second))),
        lasts: draw(&pauses.length),
        stops_work: true,
    });
    Settings {
        nodes: question.nodes,
        app_servers: APP_SERVERS,
        workers: 1,
        keys: APP_SERVERS,
        own_keys: true,
        wants: vec![AcquireSettings {
            rules: Rules {
                ttl: setting.ttl,
                reply_timeout: setting.ttl,
                lifetime: None,
                repair: false,
            },
            renew: setting.interval().map(duration),
            wait: Wait::FailFast,
            timeout: setting.ttl,
        }],
        think: Span::micros(1, 1000),
        hold: draw(&question.hold),
        delay: Delay {
            usual: draw(&question.round_trip),
            long: Span::micros(0, 0),
            long_per_mille: 0,
            round_trips: true,
        },
        lag: Duration::ZERO,
        drift_ppm: 0,
        reconnect: Duration::from_millis(10),
        channel_idle: Duration::from_secs(2),
        window: WINDOW,
        give_up_per_mille: 0,
        heed_loss_per_mille: 0,
        freezes,
        faults: None,
        busy: Duration::ZERO,
    }
}

fn draw(spread: &Spread) -> Draw {
    match spread {
        Spread::Constant(always) => Span::of(duration(*always)).into(),
        _ => Draw::Quantiles(Quantiles::of(|p| duration(spread.quantile_beyond(p)))),
    }
}

/// Seconds; what is longer than a century is as long as one.
fn duration(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, 3.2e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Pauses, Renewal, overrun};

    fn played(question: &Question, setting: &Setting, sections: u64) -> Simulated {
        simulate(
            question,
            setting,
            sections,
            1,
            &AtomicBool::new(false),
            &AtomicU64::new(0),
        )
    }

    fn question(nodes: usize, pauses_per_second: f64) -> Question {
        let log_normal = |median, sigma| Spread::LogNormal { median, sigma };
        let mut question = Question::new(log_normal(0.020, 0.6), log_normal(0.001, 0.4), nodes);
        question.pauses = Pauses {
            per_second: pauses_per_second,
            length: log_normal(0.050, 0.8),
        };
        question
    }

    /// The closed forms and the shipped protocol are two ways to the same figure.
    #[test]
    fn the_protocol_in_virtual_time_overruns_as_often_as_the_closed_forms_say() {
        for nodes in [1, 3] {
            for (pauses, ttl, renewal) in [
                (0.0, 30, Renewal::Off),
                (0.0, 80, Renewal::Off),
                (0.5, 120, Renewal::Off),
                (0.5, 60, Renewal::Fraction(3)),
            ] {
                let question = question(nodes, pauses);
                let setting = Setting {
                    ttl: Duration::from_millis(ttl),
                    renewal,
                };
                let seen = played(&question, &setting, 200_000);
                let expected = overrun::of_section(&question, &setting).p;
                // Four standard errors and 5 %: nodes count whole milliseconds, and renewals come in batches.
                let error = 4.0 * (expected / seen.sections as f64).sqrt() + 0.05 * expected;
                let what = format!("{nodes} nodes, TTL {ttl} ms, {renewal}, {pauses} pauses/s");
                assert!(
                    (seen.p() - expected).abs() < error,
                    "{what}: {} seen, {expected} ± {error} expected",
                    seen.p()
                );
                assert_eq!(seen.violations, 0, "{what}");
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_result_whatever_the_threads_and_another_one_another() {
        let setting = Setting {
            ttl: Duration::from_millis(30),
            renewal: Renewal::Off,
        };
        let question = question(3, 0.0);
        let again = || {
            simulate(
                &question,
                &setting,
                120_000,
                5,
                &AtomicBool::new(false),
                &AtomicU64::new(0),
            )
        };
        assert_eq!(again(), again());
        assert_eq!(again().sections, 120_000);
        assert_ne!(played(&question, &setting, 120_000), again());
    }

    #[test]
    fn a_stop_keeps_what_was_played() {
        let stop = AtomicBool::new(true);
        let setting = Setting {
            ttl: Duration::from_millis(30),
            renewal: Renewal::Off,
        };
        let none = simulate(&question(1, 0.0), &setting, u64::MAX / 2, 5, &stop, &AtomicU64::new(0));
        assert_eq!(none, Simulated::default());
    }
}
