//! Notices that the run, or its app servers, stood still.

use std::time::{Duration, Instant};

use lockstorm_data::scenario::ArmSpec;

/// Notices that the run itself stood still, and its app servers with it: it was stopped by a signal, or had no processor
/// time. Locks that expire meanwhile make damage that no lock can answer for.
#[derive(Debug)]
pub(crate) struct StallWatch {
    /// The shortest stall that counts; `None` if no lock can expire.
    limit: Option<Duration>,
    last: Option<Instant>,
    /// The first look at the app servers' threads: when, and how long they had stood still.
    first: Option<(Instant, Duration)>,
}

impl StallWatch {
    /// Shorter stalls are those of a busy machine.
    const LEAST: Duration = Duration::from_secs(1);
    /// What is seen in less time says little.
    const SOON: Duration = Duration::from_secs(3);
    /// If threads stand still for more than this part of the time, the machine is too busy.
    pub const MUCH: f64 = 0.02;

    /// A stall counts if it outlasts the shortest TTL of the arms, and a second.
    pub fn new(arms: &[ArmSpec]) -> Self {
        let with_nodes = arms.iter().filter(|arm| arm.lock.uses_nodes());
        let shortest = with_nodes.map(|arm| arm.ttl).min();
        Self {
            limit: shortest.map(|ttl| ttl.max(Self::LEAST)),
            last: None,
            first: None,
        }
    }

    /// The part of the time in which the threads of the app servers stood still although nobody paused them; `sum` is how long each of the
    /// `threads` has, added up. `None` in the first seconds.
    pub fn stood_still(&mut self, now: Instant, sum: Duration, threads: usize) -> Option<f64> {
        let (since, before) = *self.first.get_or_insert((now, sum));
        let passed = now.saturating_duration_since(since);
        let share = sum.saturating_sub(before).as_secs_f64() / (passed.as_secs_f64() * threads.max(1) as f64);
        (passed >= Self::SOON).then_some(share)
    }

    /// Locks have this TTL from now on.
    pub fn on_ttl(&mut self, ttl: Duration) {
        self.limit = self.limit.map(|_| ttl.max(Self::LEAST));
    }

    /// The time since the last call, if that was a stall.
    pub fn look(&mut self, now: Instant) -> Option<Duration> {
        let last = self.last.replace(now)?;
        let gap = now.saturating_duration_since(last);
        self.limit.is_some_and(|limit| gap >= limit).then_some(gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::scenario::{LockKind, Overrides, Source, parse};

    #[test]
    fn the_threads_of_a_busy_machine_stand_still_for_much_of_the_time() {
        let (mut watch, start) = (StallWatch::new(&[]), Instant::now());
        let mut look = |after, sum| watch.stood_still(start + Duration::from_secs(after), Duration::from_secs(sum), 4);
        assert_eq!(look(0, 7), None, "what was before does not count");
        assert_eq!(look(2, 9), None, "too early");
        assert_eq!(look(10, 11), Some(0.1));
        assert_eq!(look(20, 7), Some(0.0));
    }

    #[test]
    fn only_a_stall_that_outlasts_a_ttl_counts() {
        let source = Source::open("flash-sale").expect("it is built in");
        let mut arms = parse(&source, &Overrides::default()).expect("it is valid").arms;
        arms.retain(|arm| arm.lock.uses_nodes());
        let start = Instant::now();
        let gap = |arms: &[ArmSpec], millis| {
            let mut watch = StallWatch::new(arms);
            assert_eq!(watch.look(start), None, "there was nothing before");
            watch.look(start + Duration::from_millis(millis))
        };
        for (ttl, limit) in [(50, 1_000), (3_000, 3_000)] {
            arms[0].ttl = Duration::from_millis(ttl);
            assert_eq!(gap(&arms[..1], limit - 1), None);
            assert_eq!(gap(&arms[..1], limit), Some(Duration::from_millis(limit)));
        }
        arms[0].lock = LockKind::Local;
        assert_eq!(gap(&arms[..1], 60_000), None, "nothing expires");
        arms[0].lock = LockKind::Single;
        let mut watch = StallWatch::new(&arms[..1]);
        watch.on_ttl(Duration::from_millis(20));
        watch.look(start);
        assert!(
            watch.look(start + StallWatch::LEAST).is_some(),
            "the TTL was turned down"
        );
    }
}
