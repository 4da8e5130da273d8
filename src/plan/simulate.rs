//! Sections of a setting, played in virtual time by the lock engine's own protocol.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::draws::{draw, duration, poisson};
use super::question::Question;
use super::setting::Setting;
use super::simulated::{Simulated, Takeovers};
use super::surroundings::Surroundings;
use super::worlds::{FromWorld, in_parallel, seed_of};
use lockstorm_data::metrics::units::rounded;
use lockstorm_lock::protocol::{Rules, WINDOW};
use lockstorm_lock::simulation::{AcquireSettings, Delay, Freezes, Samples, Settings, Span, World};

/// The sections that one world plays. Worlds have seeds of their own, so the result does not depend on the number of threads.
const EACH: u64 = 50_000;
/// Events between two looks at the clock and at the flag that stops.
const OFTEN: usize = 1000;
/// A world ends early when it has taken more events than this for each section that has ended, and besides...
const EVENTS: u64 = 20_000;
/// ...for each section that it is to play, and...
const EVENTS_AHEAD: u64 = 2000;
/// ...to begin with: app servers connect, nodes are away.
const EVENTS_FIRST: u64 = 10_000_000;
/// Nanoseconds of 64 bits last for six centuries, so no world is older than one.
const OLDEST: Duration = Duration::from_hours(24 * 36_500);

/// How much is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// About so many sections.
    Sections(u64),
    /// So much virtual time.
    Time(Duration),
}

impl Extent {
    /// About how many sections that is.
    pub fn sections(self, question: &Question, surroundings: &Surroundings) -> u64 {
        match self {
            Self::Sections(sections) => sections,
            Self::Time(time) => rounded((time.as_secs_f64() * surroundings.per_second(question)).ceil()).max(1),
        }
    }
}

/// Plays so much on all processors, until `stop` is set. `done` counts the sections as they are played. It ends early where so
/// many events happen for each section that it would take for ever.
pub fn simulate(
    question: &Question,
    setting: &Setting,
    surroundings: &Surroundings,
    extent: Extent,
    seed: u64,
    stop: &AtomicBool,
    done: &AtomicU64,
) -> Simulated {
    let sections = extent.sections(question, surroundings);
    let worlds = sections.div_ceil(EACH);
    let settings = settings(question, setting, surroundings);
    let played = in_parallel(worlds, stop, |number| {
        let mut world = World::new(settings.clone(), seed_of(seed, number)).ok()?;
        let counted = |sections| _ = done.fetch_add(sections, Ordering::Relaxed);
        let end = match extent {
            Extent::Sections(all) => End::Sections(EACH.min(all - number * EACH)),
            Extent::Time(all) => End::Time(duration(all.as_secs_f64() / worlds as f64)),
        };
        let ahead = EVENTS_AHEAD * EACH.min(sections);
        let is_last = play(&mut world, end, EVENTS_FIRST + ahead, stop, counted);
        let mut simulated = Simulated::of(&world.report(), &world.take_samples(), is_last);
        if surroundings.keys.is_none() {
            // Nobody else wants the locks, so these are only the returns of those who died.
            simulated.takeovers = Takeovers::default();
        }
        Some(FromWorld {
            what: simulated,
            is_last,
        })
    });
    let played = played.into_iter().map(|given| given.what);
    played.fold(Simulated::default(), Simulated::with)
}

/// Plays so many sections, and keeps the times of each.
pub fn sample(
    question: &Question,
    setting: &Setting,
    surroundings: &Surroundings,
    sections: u64,
    seed: u64,
    stop: &AtomicBool,
) -> (Simulated, Samples) {
    let settings = settings(question, setting, surroundings);
    let played = in_parallel(sections.div_ceil(EACH), stop, |number| {
        let mut world = World::new(settings.clone(), seed_of(seed, number)).ok()?;
        world.keep_samples();
        let end = End::Sections(EACH.min(sections - number * EACH));
        let is_last = play(&mut world, end, EVENTS_FIRST + EVENTS_AHEAD * EACH, stop, |_| ());
        let samples = world.take_samples();
        Some(FromWorld {
            what: (Simulated::of(&world.report(), &samples, is_last), samples),
            is_last,
        })
    });
    let mut all = (Simulated::default(), Samples::default());
    for (simulated, samples) in played.into_iter().map(|given| given.what) {
        all.0 = all.0.with(simulated);
        all.1.add(samples);
    }
    all
}

/// Where a world ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    /// When so many sections have ended.
    Sections(u64),
    /// At this time.
    Time(Duration),
}

impl End {
    /// Lets the next event happen, unless the world has ended.
    fn step(self, world: &mut World) -> bool {
        match self {
            Self::Sections(sections) => world.sections_ended() < sections && world.step(),
            Self::Time(end) => world.step_until(end),
        }
    }
}

/// Plays a world to its end, or until `stop` is set. `counted` is told now and then how many sections it has played since. Returns
/// whether it ended early, because it took more than so many `events` without getting on.
pub(super) fn play(world: &mut World, end: End, events: u64, stop: &AtomicBool, counted: impl Fn(u64)) -> bool {
    let (mut before, mut goes_on) = (0, true);
    while goes_on && !stop.load(Ordering::Relaxed) {
        if world.events_happened() > events + EVENTS * before || world.now() > OLDEST {
            return true;
        }
        goes_on = (0..OFTEN).all(|_| end.step(world));
        counted(world.sections_ended() - before);
        before = world.sections_ended();
    }
    false
}

/// The world of a setting.
pub(super) fn settings(question: &Question, setting: &Setting, surroundings: &Surroundings) -> Settings {
    let pauses = &question.pauses;
    let are_in_holds = pauses.in_holds && setting.interval().is_none();
    let freezes = (pauses.per_second > 0.0 && !are_in_holds).then(|| Freezes {
        every: poisson(pauses.per_second),
        lasts: draw(&pauses.length),
        stops_work: surroundings.pauses_stop_work,
    });
    Settings {
        nodes: question.nodes,
        app_servers: surroundings.clients,
        workers: surroundings.workers,
        keys: surroundings.keys.unwrap_or(surroundings.clients * surroundings.workers),
        own_keys: surroundings.keys.is_none(),
        wants: vec![AcquireSettings {
            rules: Rules {
                ttl: setting.ttl,
                reply_timeout: surroundings.node_timeout.unwrap_or(setting.ttl).min(setting.ttl),
                lifetime: None,
                repair: false,
            },
            renew: setting.interval().map(duration),
            wait: surroundings.wait,
            timeout: surroundings.timeout.unwrap_or(setting.ttl),
        }],
        think: surroundings.think,
        hold: draw(&question.hold),
        delay: Delay {
            usual: draw(&question.round_trip),
            long: Span::micros(0, 0),
            long_per_mille: 0,
            round_trips: true,
            together: surroundings.share_machine,
        },
        lag: Duration::ZERO,
        drift_ppm: surroundings.drift_ppm,
        reconnect: Duration::from_millis(10),
        channel_idle: Duration::from_secs(2),
        window: WINDOW,
        give_up_per_mille: 0,
        heed_loss_per_mille: 0,
        freezes,
        faults: surroundings.faults.clone(),
        busy: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pauses::Pauses;
    use crate::row;
    use crate::setting::Renewal;
    use crate::spread::Spread;
    use crate::surroundings::{ClockJumps, NodeCrashes};
    use lockstorm_lock::protocol::Wait;

    fn played(question: &Question, setting: &Setting, sections: u64) -> Simulated {
        simulate(
            question,
            setting,
            &Surroundings::default(),
            Extent::Sections(sections),
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
            in_holds: false,
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
                let expected = row::of(&question, setting).overrun.p;
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
                &Surroundings::default(),
                Extent::Sections(120_000),
                5,
                &AtomicBool::new(false),
                &AtomicU64::new(0),
            )
        };
        assert_eq!(again(), again());
        assert_eq!(again().sections, 120_000);
        let with_seed = |seed| {
            let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
            let extent = Extent::Sections(20_000);
            simulate(
                &question,
                &setting,
                &Surroundings::default(),
                extent,
                seed,
                &stop,
                &done,
            )
            .events
        };
        let events: std::collections::BTreeSet<u64> = (1..=6).map(with_seed).collect();
        assert_eq!(events.len(), 6, "{events:?}");
    }

    #[test]
    fn a_stop_keeps_what_was_played() {
        let stop = AtomicBool::new(true);
        let setting = Setting {
            ttl: Duration::from_millis(30),
            renewal: Renewal::Off,
        };
        let most = Extent::Sections(u64::MAX / 2);
        let around = Surroundings::default();
        let none = simulate(&question(1, 0.0), &setting, &around, most, 5, &stop, &AtomicU64::new(0));
        assert_eq!(none, Simulated::default());
    }

    #[test]
    fn a_world_in_which_nobody_gets_a_lock_ends_after_its_events_and_another_one_with_its_sections() {
        let played = |round_trip| {
            let mut question = question(3, 0.0);
            question.round_trip = Spread::Constant(round_trip);
            let settings = settings(&question, &off(100), &Surroundings::default());
            let mut world = World::new(settings, 1).expect("settings within their ranges");
            let early = play(&mut world, End::Sections(5000), 20_000, &AtomicBool::new(false), |_| ());
            (early, world.sections_ended(), world.events_happened())
        };
        let (early, sections, events) = played(0.2);
        assert!(
            early && sections == 0 && events < 25_000,
            "{sections} sections, {events} events"
        );
        let (early, sections, events) = played(0.001);
        assert!(
            !early && sections == 5000 && events > 25_000,
            "{sections} sections, {events} events"
        );
    }

    fn around(question: &Question, keys: usize, wait: Wait) -> Surroundings {
        Surroundings {
            keys: Some(keys),
            wait,
            timeout: Some(Duration::from_secs(1)),
            ..Surroundings::of_clients(question, 40)
        }
    }

    fn played_for(question: &Question, setting: &Setting, around: &Surroundings, seconds: u64) -> Simulated {
        let extent = Extent::Time(Duration::from_secs(seconds));
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        simulate(question, setting, around, extent, 3, &stop, &done)
    }

    #[test]
    fn clients_do_as_many_sections_as_they_should_and_wait_for_each_other_only_where_they_share_locks() {
        let (mut question, setting) = (question(3, 0.0), off(500));
        question.per_second = 400.0;
        let own = played_for(&question, &setting, &Surroundings::of_clients(&question, 40), 600);
        let per_second = own.sections as f64 / own.seconds;
        assert!((per_second / 400.0 - 1.0).abs() < 0.05, "{own:?}");
        assert_eq!((own.refused, own.overlaps, own.takeovers.count), (0, 0, 0));
        let shared = played_for(&question, &setting, &around(&question, 8, Wait::FailFast), 600);
        assert!(shared.refused > 1000 && shared.violations == 0, "{shared:?}");
        let queue = played_for(&question, &setting, &around(&question, 8, Wait::Queue), 600);
        assert!(
            queue.refused < shared.refused / 10 && queue.violations == 0,
            "{queue:?}"
        );
    }

    /// As on real nodes: restart without memory is a loss; away for the TTL and its margin, no second holder; away for half of it, some.
    #[test]
    fn a_node_that_forgets_is_harmless_only_if_it_stays_away_for_the_restart_delay() {
        let (mut question, setting) = (question(1, 0.0), off(2000));
        (question.per_second, question.hold) = (60.0, Spread::Constant(0.5));
        let overlaps = |away: f64, keeps: bool| {
            let mut around = around(&question, 40, Wait::Queue);
            around.crash_nodes(&NodeCrashes {
                per_second: 0.1,
                away: Spread::Constant(away),
                keeps,
            });
            let seen = played_for(&question, &setting, &around, 2000);
            assert_eq!(seen.violations, 0);
            assert!(seen.sections > 10_000, "{seen:?}");
            seen.overlaps
        };
        let enough = crate::formulas::restart_delay(2.0);
        assert!(overlaps(0.1, false) > 20);
        assert_eq!((overlaps(enough, false), overlaps(0.1, true)), (0, 0));
    }

    #[test]
    fn two_hold_a_lock_after_jumps_of_clocks_beyond_its_ttl_and_not_after_shorter_ones_or_jumps_back() {
        let (mut question, setting) = (question(3, 0.0), off(1000));
        (question.per_second, question.hold) = (20.0, Spread::Constant(0.3));
        let overlaps = |by: f64, back: bool| {
            let mut around = around(&question, 20, Wait::Queue);
            around.jump_clocks(&ClockJumps {
                per_second: 5.0,
                by: Spread::Constant(by),
                back,
            });
            let seen = played_for(&question, &setting, &around, 500);
            assert_eq!(seen.violations, 0);
            assert!(seen.sections > 5000, "{seen:?}");
            seen.overlaps
        };
        // Two jumps within 0.3 s, each on its own node, come often. One of 0.1 s leaves more than the rest of a section.
        assert!(overlaps(2.0, false) > 20);
        assert_eq!((overlaps(0.1, false), overlaps(2.0, true)), (0, 0));
    }

    #[test]
    fn nodes_that_share_a_machine_answer_together_and_others_a_quorum_at_a_time() {
        let mut question = question(3, 0.0);
        question.round_trip = Spread::LogNormal {
            median: 0.002,
            sigma: 1.0,
        };
        let slow = |share_machine| {
            let around = Surroundings {
                share_machine,
                think: Span::micros(100_000, 300_000),
                ..Surroundings::default()
            };
            let (_, samples) = sample(&question, &off(1000), &around, 20_000, 5, &AtomicBool::new(false));
            let quick = samples.acquires.iter().filter(|time| time.as_secs_f64() <= 0.005);
            1.0 - quick.count() as f64 / samples.acquires.len() as f64
        };
        // One log-normal variable is above 2.5 medians with this probability, the median of three less often.
        let one = 0.1798;
        let median = one * one * (3.0 - 2.0 * one);
        let (together, apart) = (slow(true), slow(false));
        assert!((together - one).abs() < 0.01, "{together}");
        assert!((apart - median).abs() < 0.01, "{apart} and {median}");
    }

    #[test]
    fn takeovers_after_crashes_take_what_is_left_of_the_ttl() {
        let (mut question, setting) = (question(3, 0.0), off(600));
        (question.per_second, question.hold) = (200.0, Spread::Constant(0.1));
        let none = played_for(&question, &setting, &around(&question, 10, Wait::Queue), 1000);
        assert_eq!(none.takeovers.count, 0);
        question.crashes_per_second = 0.5;
        let seen = played_for(&question, &setting, &around(&question, 10, Wait::Queue), 1000);
        // The crash comes 0 to 100 ms after the acquire; others ask again soon after the key has expired.
        let mean = seen.takeovers.mean();
        assert!(seen.takeovers.count > 100 && (0.53..0.60).contains(&mean), "{seen:?}");
        assert!(seen.takeovers.worst < 3.0 && seen.violations == 0, "{seen:?}");
    }

    #[test]
    fn a_lock_that_was_lost_before_its_holder_died_is_not_taken_over() {
        // Sections of one second, of which a lock lasts the first 100 ms or all of it.
        let mut question = question(3, 0.0);
        (question.per_second, question.hold, question.crashes_per_second) = (20.0, Spread::Constant(1.0), 0.5);
        let takeovers = |ttl| {
            let seen = played_for(&question, &off(ttl), &around(&question, 100, Wait::Queue), 2000);
            assert_eq!(seen.violations, 0);
            seen.takeovers.count
        };
        let (lost, held) = (takeovers(100), takeovers(1500));
        assert!(lost > 0 && lost * 4 < held, "{lost} and {held}");
    }

    fn off(ttl: u64) -> Setting {
        Setting {
            ttl: Duration::from_millis(ttl),
            renewal: Renewal::Off,
        }
    }
}
