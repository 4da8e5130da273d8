use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::{Rng, RngExt};
use tokio::sync::watch;
use tokio::time::Instant;

/// When the requests of one arm are meant to begin. All app servers share it: a request that no free worker takes in time
/// is begun late, never dropped, and its response time counts from the intended start.
#[derive(Debug)]
pub struct Pacer {
    next: AtomicU64,
    /// The first request of the measured part; [`WARM_UP`] before it.
    measured_from: AtomicU64,
    limit: Option<u64>,
    pace: watch::Sender<Pace>,
}

/// No request is measured yet, and no limit counts.
const WARM_UP: u64 = u64::MAX;

/// The pace of an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// A worker begins its next request an exponential pause of this mean after the last one.
    Closed {
        /// The mean pause.
        think: Duration,
    },
    /// Requests begin at a rate, whatever becomes of the earlier ones.
    Open {
        /// When request `first` is due.
        since: Instant,
        /// The first request that this pace is for.
        first: u64,
        /// Requests a second.
        rate: f64,
        /// The time over which the rate grows linearly from zero.
        ramp: Duration,
    },
    /// No further request begins.
    Ended,
}

impl Pace {
    /// When request `i` is due; none in a closed loop.
    ///
    /// With a ramp T to rate R, n(t) = R·t²/2T requests are due t after the start, until T; R a second from then on.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // request numbers stay far below 2^53
    pub fn due(&self, i: u64) -> Option<Instant> {
        let Self::Open {
            since,
            first,
            rate,
            ramp,
        } = *self
        else {
            return None;
        };
        let Some(n) = i.checked_sub(first) else {
            return Some(since);
        };
        let (n, ramp) = (n as f64, ramp.as_secs_f64());
        let in_ramp = rate * ramp / 2.0;
        let seconds = if n < in_ramp {
            (2.0 * ramp * n / rate).sqrt()
        } else {
            ramp + (n - in_ramp) / rate
        };
        Some(since + Duration::from_secs_f64(seconds))
    }

    /// How many requests were due by `now`, those before this pace included; none in a closed loop.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the count is positive and small
    pub fn due_by(&self, now: Instant) -> Option<u64> {
        let Self::Open {
            since,
            first,
            rate,
            ramp,
        } = *self
        else {
            return None;
        };
        let (t, ramp) = (now.saturating_duration_since(since).as_secs_f64(), ramp.as_secs_f64());
        let n = if t < ramp {
            rate * t * t / (2.0 * ramp)
        } else {
            rate * (t - ramp / 2.0)
        };
        Some(first + n as u64)
    }
}

impl Pacer {
    /// A pacer that ends each arm after `limit` measured requests, if there is one.
    #[must_use]
    pub fn new(pace: Pace, limit: Option<u64>) -> Self {
        Self {
            next: AtomicU64::new(0),
            measured_from: AtomicU64::new(WARM_UP),
            limit,
            pace: watch::Sender::new(pace),
        }
    }

    /// The load begins: an open loop counts its intended starts from `now`.
    pub fn start(&self, now: Instant) {
        self.pace.send_modify(|pace| {
            if let Pace::Open { since, .. } = pace {
                *since = now;
            }
        });
    }

    /// The measured part begins: requests that were begun before are not counted against the limit.
    pub fn measure(&self) {
        self.measured_from
            .store(self.next.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Requests that were due by `now` since [`Pacer::measure`] (open loop) or handed out since then (closed loop).
    #[must_use]
    pub fn offered(&self, now: Instant) -> u64 {
        let due = self
            .pace
            .borrow()
            .due_by(now)
            .unwrap_or_else(|| self.next.load(Ordering::Relaxed));
        let offered = self.measured(due);
        self.limit.map_or(offered, |limit| offered.min(limit))
    }

    /// How many of the first `requests` belong to the measured part.
    fn measured(&self, requests: u64) -> u64 {
        requests.saturating_sub(self.measured_from.load(Ordering::Relaxed))
    }

    /// Sets the rate from now on; nothing in a closed loop.
    pub fn set_rate(&self, rate: f64, now: Instant) {
        self.pace.send_if_modified(|pace| {
            let Some(first) = pace.due_by(now) else { return false };
            *pace = Pace::Open {
                since: now,
                first,
                rate,
                ramp: Duration::ZERO,
            };
            true
        });
    }

    /// No further request begins. What was due by `now` stays offered, begun or not.
    pub fn end(&self, now: Instant) {
        if let Some(due) = self.pace.send_replace(Pace::Ended).due_by(now) {
            self.next.fetch_max(due, Ordering::Relaxed);
        }
    }

    /// Waits until this worker shall begin a request and returns its intended start; none: there is none left to begin.
    pub async fn next(&self, rng: &mut (impl Rng + Send)) -> Option<Instant> {
        let mut changes = self.pace.subscribe();
        let pause = match *changes.borrow_and_update() {
            Pace::Closed { think } => exponential(think, rng),
            Pace::Open { .. } => Duration::ZERO,
            Pace::Ended => return None,
        };
        if !pause.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = ended(&mut changes) => return None,
            }
        }
        let number = self.take()?;
        loop {
            let pace = *changes.borrow_and_update();
            let due = match pace {
                Pace::Ended => return None,
                Pace::Closed { .. } => return Some(Instant::now()),
                Pace::Open { .. } => pace.due(number)?,
            };
            if due <= Instant::now() {
                return Some(due);
            }
            tokio::select! {
                () = tokio::time::sleep_until(due) => return Some(due),
                changed = changes.changed() => changed.ok()?,
            }
        }
    }

    /// Whether no further request will begin.
    #[must_use]
    pub fn exhausted(&self) -> bool {
        let handed_out = self.measured(self.next.load(Ordering::Relaxed));
        *self.pace.borrow() == Pace::Ended || self.limit.is_some_and(|limit| handed_out >= limit)
    }

    fn take(&self) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.limit
            .is_none_or(|limit| self.measured(number) < limit)
            .then_some(number)
    }
}

async fn ended(changes: &mut watch::Receiver<Pace>) {
    // A closed channel means that the run is gone, which is an end too.
    let _ = changes.wait_for(|pace| *pace == Pace::Ended).await;
}

/// A draw from the exponential distribution by inversion.
fn exponential(mean: Duration, rng: &mut impl Rng) -> Duration {
    if mean.is_zero() {
        return Duration::ZERO;
    }
    let u: f64 = rng.random();
    mean.mul_f64(-(1.0 - u).ln())
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn open(rate: f64, ramp: Duration) -> Pace {
        Pace::Open {
            since: Instant::now(),
            first: 0,
            rate,
            ramp,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn intended_starts_are_evenly_spaced() {
        let start = Instant::now();
        let pace = open(10.0, Duration::ZERO);
        assert_eq!(pace.due(0), Some(start));
        assert_eq!(pace.due(25), Some(start + Duration::from_millis(2500)));
        assert_eq!(pace.due_by(start + SECOND * 3), Some(30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_ramp_offers_half_and_then_the_full_rate() {
        let start = Instant::now();
        let pace = open(10.0, SECOND * 4);
        assert_eq!(pace.due_by(start + SECOND * 4), Some(20));
        assert_eq!(pace.due_by(start + SECOND * 5), Some(30));
        assert_eq!(pace.due(20), Some(start + SECOND * 4));
        assert_eq!(pace.due(5), Some(start + SECOND * 2));
    }

    #[tokio::test(start_paused = true)]
    async fn late_requests_keep_their_intended_start() {
        let start = Instant::now();
        let pacer = Pacer::new(open(10.0, Duration::ZERO), None);
        pacer.measure();
        let mut rng = SmallRng::seed_from_u64(1);
        assert_eq!(pacer.next(&mut rng).await, Some(start));
        tokio::time::advance(SECOND).await;
        assert_eq!(
            pacer.next(&mut rng).await,
            Some(start + SECOND / 10),
            "begun 0.9 s late"
        );
        assert_eq!(pacer.offered(Instant::now()), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_due_at_the_end_stays_offered_though_nobody_began_it() {
        let pacer = Pacer::new(open(10.0, Duration::ZERO), None);
        pacer.measure();
        let mut rng = SmallRng::seed_from_u64(1);
        pacer.next(&mut rng).await;
        tokio::time::advance(SECOND * 3).await;
        pacer.end(Instant::now());
        assert!(pacer.next(&mut rng).await.is_none());
        tokio::time::advance(SECOND).await;
        assert_eq!(
            pacer.offered(Instant::now()),
            30,
            "not the one that was begun, and none after the end"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_rate_moves_those_who_wait_already() {
        let start = Instant::now();
        let pacer = std::sync::Arc::new(Pacer::new(open(0.01, Duration::ZERO), None));
        let mut rng = SmallRng::seed_from_u64(1);
        pacer.next(&mut rng).await;
        let waiting = tokio::spawn({
            let pacer = pacer.clone();
            async move { pacer.next(&mut SmallRng::seed_from_u64(2)).await }
        });
        tokio::time::sleep(SECOND).await;
        pacer.set_rate(2.0, Instant::now());
        let begun = waiting.await.expect("the task ends").expect("a request is due");
        assert!(begun <= start + SECOND * 2, "{:?}", begun - start);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_ends_the_arm_and_warm_up_does_not_count() {
        let pacer = Pacer::new(Pace::Closed { think: Duration::ZERO }, Some(3));
        let mut rng = SmallRng::seed_from_u64(1);
        for _ in 0..10 {
            assert!(pacer.next(&mut rng).await.is_some(), "the warm-up has no limit");
        }
        assert_eq!(pacer.offered(Instant::now()), 0);
        pacer.measure();
        for _ in 0..3 {
            assert!(pacer.next(&mut rng).await.is_some());
        }
        assert!(pacer.next(&mut rng).await.is_none());
        assert_eq!(pacer.offered(Instant::now()), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_wakes_thinkers_and_sleepers() {
        for pace in [Pace::Closed { think: SECOND * 3600 }, open(0.001, Duration::ZERO)] {
            let pacer = std::sync::Arc::new(Pacer::new(pace, None));
            let waiting = tokio::spawn({
                let pacer = pacer.clone();
                async move {
                    let mut rng = SmallRng::seed_from_u64(3);
                    while pacer.next(&mut rng).await.is_some() {}
                }
            });
            tokio::time::sleep(SECOND).await;
            pacer.end(Instant::now());
            tokio::time::timeout(SECOND * 60, waiting)
                .await
                .expect("woken")
                .expect("no panic");
        }
    }
}
