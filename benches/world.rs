//! The speed of the lock's virtual world: `cargo bench --bench world`.
//!
//! It measures uncontended cycles (an acquire that asks three nodes, and its release) and events a second, on one core, with
//! 64 workers spread over 1, 4 and 64 app servers; and the seeds a second of the world test, which draws small worlds full
//! of faults.

use std::fs;
use std::time::{Duration, Instant};

use lockstorm_lock::protocol::{Rules, WINDOW, Wait};
use lockstorm_lock::simulation::{AcquireSettings, Delay, Settings, Span, World};

/// The rounds of each measurement. The best one counts, since other processes may disturb the others.
const ROUNDS: usize = 5;

/// The seeds in one round of the world test.
const SEEDS: u64 = 500;

fn main() {
    // Cargo's own flags are not filters.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    if filter.is_some_and(|filter| !"world".contains(&filter)) {
        return;
    }
    for (app_servers, workers) in [(1, 64), (4, 16), (64, 1)] {
        let (mut cycles, mut events) = (0.0, 0.0);
        for _ in 0..ROUNDS {
            let round = uncontended(app_servers, workers);
            if round.0 > cycles {
                (cycles, events) = round;
            }
        }
        println!("world: {app_servers} app servers × {workers} workers: {cycles:.0} cycles/s, {events:.0} events/s");
    }
    let seeds = (0..ROUNDS).map(|_| drawn()).fold(0.0, f64::max);
    println!("world: {seeds:.0} seeds/s");
}

/// Cycles and events a second.
fn uncontended(app_servers: usize, workers: usize) -> (f64, f64) {
    let settings = Settings {
        nodes: 3,
        app_servers,
        workers,
        keys: app_servers * workers,
        own_keys: true,
        wants: vec![AcquireSettings {
            rules: Rules {
                ttl: Duration::from_secs(10),
                reply_timeout: Duration::from_millis(40),
                lifetime: None,
                repair: false,
            },
            renew: None,
            wait: Wait::FailFast,
            timeout: Duration::from_secs(1),
        }],
        think: Span::micros(1, 100),
        hold: Span::of(Duration::ZERO).into(),
        delay: Delay {
            usual: Span::micros(50, 150).into(),
            long: Span::micros(50, 150),
            long_per_mille: 0,
            round_trips: false,
            together: false,
        },
        lag: Duration::ZERO,
        drift_ppm: 5000,
        reconnect: Duration::from_millis(10),
        channel_idle: Duration::from_secs(2),
        window: WINDOW,
        give_up_per_mille: 0,
        heed_loss_per_mille: 0,
        freezes: None,
        faults: Vec::new(),
        busy: Duration::from_secs(3),
    };
    // These settings are within their ranges.
    let mut world = World::new(settings, 1).unwrap();
    let watch = Watch::start();
    world.run(Duration::from_secs(3));
    let time = watch.seconds();
    let report = world.report();
    assert_eq!(
        (report.attempts.contended, report.losses, report.violations.len()),
        (0, 0, 0)
    );
    (report.cycles as f64 / time, report.events as f64 / time)
}

/// Seeds a second.
fn drawn() -> f64 {
    let watch = Watch::start();
    for seed in 0..SEEDS {
        let report = World::new(Settings::drawn(seed), seed).unwrap().play();
        assert!(report.violations.is_empty());
    }
    SEEDS as f64 / watch.seconds()
}

/// Measures the time for which this thread had a core, or the elapsed time if that is not known.
struct Watch {
    start: Instant,
    on_core: Option<Duration>,
}

impl Watch {
    fn start() -> Self {
        Self {
            start: Instant::now(),
            on_core: on_core(),
        }
    }

    fn seconds(&self) -> f64 {
        let passed = self.start.elapsed();
        let on_core = on_core()
            .zip(self.on_core)
            .map(|(now, then)| now.checked_sub(then).unwrap());
        on_core.unwrap_or(passed).as_secs_f64()
    }
}

fn on_core() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}
