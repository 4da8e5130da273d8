use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use lockstorm_data::scenario::ServiceTime;

/// The knobs that workers read at each request. They are turned while the run goes on, for all arms at once. A knob that
/// was not turned leaves the scenario's value alone.
#[derive(Debug)]
pub struct LiveSettings {
    ttl_us: AtomicU64,
    hold_us: AtomicU64,
}

/// The value of a knob that was not turned. Nobody turns one to half a million years.
const UNTURNED: u64 = u64::MAX;

impl LiveSettings {
    /// Sets the TTL of the locks that are acquired from now on; whole milliseconds, at least 1, as on lock nodes.
    pub fn set_ttl(&self, ttl: Duration) {
        self.ttl_us.store(micros(ttl).max(1000) / 1000 * 1000, Relaxed);
    }

    /// Sets the median of the hold time (`inventory`) or of the provider's time (`cache-fill`).
    pub fn set_hold(&self, median: Duration) {
        self.hold_us.store(micros(median), Relaxed);
    }

    /// The TTL of an arm that has `spec` in the scenario.
    pub fn ttl(&self, spec: Duration) -> Duration {
        turned(&self.ttl_us).unwrap_or(spec)
    }

    /// The hold time, or the provider's time, that is `spec` in the scenario.
    pub fn hold(&self, spec: ServiceTime) -> ServiceTime {
        ServiceTime {
            median: turned(&self.hold_us).unwrap_or(spec.median),
            ..spec
        }
    }
}

/// Settings without any knob turned.
impl Default for LiveSettings {
    fn default() -> Self {
        Self {
            ttl_us: AtomicU64::new(UNTURNED),
            hold_us: AtomicU64::new(UNTURNED),
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(UNTURNED - 1)
}

fn turned(knob: &AtomicU64) -> Option<Duration> {
    let micros = knob.load(Relaxed);
    (micros != UNTURNED).then(|| Duration::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knob_leaves_the_scenario_alone_until_it_is_turned() {
        let (live_settings, second) = (LiveSettings::default(), Duration::from_secs(1));
        let spec = ServiceTime {
            median: second,
            sigma: 0.5,
        };
        assert_eq!((live_settings.ttl(second), live_settings.hold(spec)), (second, spec));

        live_settings.set_hold(Duration::ZERO);
        assert_eq!(live_settings.ttl(second), second);
        assert_eq!(
            (live_settings.hold(spec).median, live_settings.hold(spec).sigma),
            (Duration::ZERO, 0.5)
        );

        live_settings.set_ttl(Duration::from_micros(2700));
        assert_eq!(live_settings.ttl(second), Duration::from_millis(2));
        live_settings.set_ttl(Duration::ZERO);
        assert_eq!(live_settings.ttl(second), Duration::from_millis(1));
    }
}
