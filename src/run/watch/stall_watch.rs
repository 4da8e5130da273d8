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
    /// A gap that the next look decides on: the signal that ends a stop may be handled a moment after this thread runs again.
    open: Option<Duration>,
    /// How long it was stopped by signals, in all.
    stopped: Duration,
    /// The first look at the app servers' threads: when, and how long they had stood still.
    first: Option<(Instant, Duration)>,
}

/// Why nothing happened for so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    /// A signal had stopped the program.
    Stopped(Duration),
    /// It had no processor time for longer than a lock lives.
    Stalled(Duration),
}

impl StallWatch {
    /// Looks come ten times a second. A stop that makes one this late is noticed.
    const LATE: Duration = Duration::from_millis(110);
    /// Shorter stalls are those of a busy machine.
    const LEAST: Duration = Duration::from_secs(1);

    /// A stall counts if it outlasts the shortest TTL of the arms, and a second.
    pub fn new(arms: &[ArmSpec]) -> Self {
        let with_nodes = arms.iter().filter(|arm| arm.lock.has_ttl());
        let shortest = with_nodes.map(|arm| arm.ttl).min();
        Self {
            limit: shortest.map(|ttl| ttl.max(Self::LEAST)),
            last: None,
            open: None,
            stopped: Duration::ZERO,
            first: None,
        }
    }

    /// The part of the time in which the threads of the app servers stood still although nobody paused them or stopped the program; `sum` is
    /// how long each of the `threads` has, added up. `None` at the first look, and as long as it is not known whether there was a stop.
    pub fn stood_still(&mut self, now: Instant, sum: Duration, threads: usize) -> Option<f64> {
        let stops = self.stopped * u32::try_from(threads).unwrap_or(u32::MAX);
        let sum = sum.saturating_sub(stops);
        if self.open.is_some() {
            return None;
        }
        let (since, before) = *self.first.get_or_insert((now, sum));
        let passed = now.saturating_duration_since(since);
        let share = sum.saturating_sub(before).as_secs_f64() / (passed.as_secs_f64() * threads.max(1) as f64);
        (!passed.is_zero()).then_some(share)
    }

    /// Locks have this TTL from now on.
    pub fn on_ttl(&mut self, ttl: Duration) {
        self.limit = self.limit.map(|_| ttl.max(Self::LEAST));
    }

    /// How long the program was stopped by signals so far, in all.
    pub const fn stopped(&self) -> Duration {
        self.stopped
    }

    /// Whether a gap of this length proves that locks have expired meanwhile.
    pub fn is_long(&self, gap: Duration) -> bool {
        self.limit.is_some_and(|limit| gap >= limit)
    }

    /// A gap that has ended by now or by the last call. `resumed`: whether the end of a stop was signalled since then.
    pub fn look(&mut self, now: Instant, resumed: bool) -> Option<Gap> {
        let last = self.last.replace(now)?;
        let gap = now.saturating_duration_since(last);
        let (earlier, gap) = (self.open.take(), Some(gap).filter(|gap| *gap >= Self::LATE));
        if resumed {
            let stopped: Duration = earlier.into_iter().chain(gap).sum();
            self.stopped += stopped;
            // It began somewhere between the look before it and the one that was due.
            let most_likely = stopped.saturating_sub(Self::LATE / 2);
            return (!stopped.is_zero()).then_some(Gap::Stopped(most_likely));
        }
        self.open = gap;
        earlier.filter(|gap| self.is_long(*gap)).map(Gap::Stalled)
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
        assert_eq!(look(2, 9), Some(0.25));
        assert_eq!(look(10, 11), Some(0.1));
        assert_eq!(look(20, 7), Some(0.0));
    }

    #[test]
    fn a_stop_is_no_stall_even_if_its_end_is_signalled_late() {
        let source = Source::open("flash-sale").expect("it is built in");
        let mut arms = parse(&source, &Overrides::default()).expect("it is valid").arms;
        for arm in &mut arms {
            arm.ttl = Duration::from_secs(2);
        }
        let start = Instant::now();
        let (ms, s) = (Duration::from_millis, Duration::from_secs);
        for signalled in [[true, false], [false, true]] {
            let mut watch = StallWatch::new(&arms);
            watch.look(start, false);
            assert_eq!(watch.stood_still(start, Duration::ZERO, 4), None);
            let gaps = [s(4), s(4) + ms(100)].map(|at| watch.look(start + at, signalled[usize::from(at > s(4))]));
            assert!(
                gaps.contains(&Some(Gap::Stopped(ms(3945)))) && gaps.contains(&None),
                "{gaps:?}"
            );
            assert_eq!(watch.stopped(), s(4));
            // The four threads noticed it as well.
            assert_eq!(watch.stood_still(start + s(10), s(16), 4), Some(0.0));
            assert_eq!(watch.look(start + s(5), true), Some(Gap::Stopped(ms(845))));
        }
        let mut watch = StallWatch::new(&arms);
        watch.look(start, true);
        assert_eq!(watch.look(start + ms(100), true), None, "nothing stood still");
        assert_eq!(watch.look(start + s(9), false), None, "it is not known yet");
        assert_eq!(
            watch.stood_still(start + s(9), s(16), 4),
            None,
            "nor whether the threads were stopped"
        );
        let told = watch.look(start + s(9) + ms(100), false);
        assert_eq!((told, watch.stopped()), (Some(Gap::Stalled(ms(8_900))), Duration::ZERO));
    }

    #[test]
    fn only_a_stall_that_outlasts_a_ttl_counts() {
        let source = Source::open("flash-sale").expect("it is built in");
        let mut arms = parse(&source, &Overrides::default()).expect("it is valid").arms;
        arms.retain(|arm| arm.lock.uses_nodes());
        let start = Instant::now();
        let gap = |arms: &[ArmSpec], millis| {
            let mut watch = StallWatch::new(arms);
            assert_eq!(watch.look(start, false), None, "there was nothing before");
            let end = start + Duration::from_millis(millis);
            assert_eq!(watch.look(end, false), None);
            watch.look(end + Duration::from_millis(100), false)
        };
        for (ttl, limit) in [(50, 1_000), (3_000, 3_000)] {
            arms[0].ttl = Duration::from_millis(ttl);
            assert_eq!(gap(&arms[..1], limit - 1), None);
            let stalled = Gap::Stalled(Duration::from_millis(limit));
            assert_eq!(gap(&arms[..1], limit), Some(stalled));
        }
        arms[0].lock = LockKind::Local;
        assert_eq!(gap(&arms[..1], 60_000), None, "nothing expires");
        arms[0].lock = LockKind::Single;
        let mut watch = StallWatch::new(&arms[..1]);
        watch.on_ttl(Duration::from_millis(20));
        watch.look(start, false);
        assert_eq!(watch.look(start + StallWatch::LEAST, false), None);
        assert!(
            watch.look(start + StallWatch::LEAST, false).is_some(),
            "the TTL was turned down"
        );
    }
}
