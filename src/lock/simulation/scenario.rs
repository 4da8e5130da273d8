//! Settings drawn from a seed, for tests: everything is small and short, so that coincidences are common.

use std::time::Duration;

use super::random::Random;
use super::settings::{AcquireSettings, Delay, Faults, Settings, Weights};
use super::span::Span;
use super::units::nanos;
use crate::protocol::{Rules, WINDOW, Wait};

impl Settings {
    /// A small world with short TTLs and many faults, determined by the seed.
    #[must_use]
    pub fn drawn(seed: u64) -> Self {
        // These must differ from the numbers that the world itself draws.
        let mut random = Random::new(seed ^ 0x5ce9_a210);
        // The drift of clocks matters only with long TTLs, which need more events.
        let slow = if random.chance(60) { 30 } else { 1 };
        let ttl = Duration::from_millis(20 + random.below(81)) * slow;
        let count = 1 + random.index(3);
        let wants = (0..count).map(|_| wants(&mut random, ttl)).collect();
        let lag = [0, 0, 200, 1900];
        let longest_hold = random.one_of(&[2, 2, 10]) * micros(ttl);
        Self {
            nodes: random.one_of(&[1, 2, 3, 3, 4, 5, 5]),
            app_servers: 1 + random.index(4),
            workers: 1 + random.index(4),
            keys: 1 + random.index(3),
            own_keys: false,
            wants,
            think: Span::micros(50, 50 + random.below(10_000) * u64::from(slow)),
            // Some locks are extended again and again.
            hold: Span::micros(0, 500 + random.below(longest_hold)).into(),
            delay: delay(&mut random, ttl),
            lag: Duration::from_micros(random.one_of(&lag)),
            drift_ppm: random.one_of(&[0, 5000, 5000]),
            reconnect: Duration::from_millis(random.one_of(&[2, 10, 60])),
            channel_idle: Duration::from_millis(200),
            window: random.one_of(&[1, 2, 8, WINDOW]),
            give_up_per_mille: random.one_of(&[0, 50, 300]),
            heed_loss_per_mille: random.one_of(&[0, 500, 1000]),
            freezes: None,
            faults: faults(&mut random, ttl),
            busy: Duration::from_millis(300) * slow,
        }
    }
}

fn micros(duration: Duration) -> u64 {
    nanos(duration) / 1000
}

fn wants(random: &mut Random, ttl: Duration) -> AcquireSettings {
    // Now and then callers of the same key use different TTLs.
    let ttl = if random.chance(200) { ttl / 2 } else { ttl };
    let reply_timeout = Duration::from_micros(2000 + random.below(micros(ttl) - 2000));
    AcquireSettings {
        rules: Rules {
            ttl,
            reply_timeout,
            lifetime: random.chance(200).then(|| ttl * 2),
            repair: random.chance(700),
        },
        renew: random.chance(600).then(|| ttl / random.one_of(&[2, 3, 4])),
        wait: match random.below(4) {
            0 => Wait::FailFast,
            1 => Wait::Retry {
                retries: 5,
                delay: Duration::from_millis(random.below(10)),
                jitter: Duration::from_millis(5),
            },
            _ => Wait::Queue,
        },
        timeout: Duration::from_millis(random.one_of(&[5, 50, 300])),
    }
}

fn delay(random: &mut Random, ttl: Duration) -> Delay {
    let ttl = micros(ttl);
    Delay {
        usual: Span::micros(20, random.one_of(&[30, 200, 1500])).into(),
        long: Span::micros(500, random.one_of(&[ttl / 4, ttl, 3 * ttl])),
        long_per_mille: random.one_of(&[0, 20, 100, 300]),
        round_trips: false,
        together: false,
    }
}

fn faults(random: &mut Random, ttl: Duration) -> Vec<Faults> {
    if random.chance(100) {
        return Vec::new();
    }
    let mut weight = |per_mille| u32::from(random.chance(per_mille));
    let weights = Weights {
        pause: weight(600),
        crash: weight(500),
        // In half of the worlds no node forgets anything: there, no two holders may overlap.
        forget: weight(500),
        cut: weight(600),
        freeze: weight(600),
        kill: weight(300),
        ..Weights::default()
    };
    let ttl = micros(ttl);
    vec![Faults {
        every: Span::micros(1000, random.one_of(&[ttl / 2, 2 * ttl, 6 * ttl])).into(),
        lasts: Span::micros(100, random.one_of(&[ttl / 4, ttl, 2 * ttl])).into(),
        weights,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_settings_each_time_and_all_of_them_are_fit() {
        for seed in 0..1000 {
            let settings = Settings::drawn(seed);
            assert_eq!(settings.check(), Ok(()));
            assert_eq!(settings, Settings::drawn(seed));
        }
    }
}
