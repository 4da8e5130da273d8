//! The source of requests for the workers of one arm on one app server.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rand::{Rng, RngExt};
use tokio::sync::Notify;

use lockstorm_base::timer::Timer;
use lockstorm_data::metrics::{Part, Timeline, When};
use lockstorm_data::scenario::Turns;

/// A request that a worker is to begin now.
#[derive(Debug, Clone, Copy)]
pub struct Begin {
    /// Its number, from 0; always 0 in a closed loop.
    pub number: u64,
    /// When it was due.
    pub intended: Instant,
    /// How late the load generator was.
    pub lag: Duration,
    /// The part of the run that it belongs to.
    pub part: Part,
}

/// The source of requests.
#[derive(Debug, Clone)]
pub enum Intake {
    /// A worker begins its next request after a pause.
    Closed(Arc<ClosedLoop>),
    /// Requests come no matter how the earlier ones fare, and queue for a free worker.
    Open(Arc<Queue>),
}

impl Intake {
    /// Waits until this worker is to begin a request; `None` if there is none left.
    pub async fn next(&self, timer: &Timer, rng: &mut (impl Rng + Send)) -> Option<Begin> {
        match self {
            Self::Closed(closed) => closed.next(timer, rng).await,
            Self::Open(queue) => queue.next().await,
        }
    }
}

/// A closed loop, shared by all workers of an arm.
#[derive(Debug)]
pub struct ClosedLoop {
    /// The mean of the exponentially distributed pause.
    think: Duration,
    /// The number of measured requests after which the loop ends.
    limit: Option<u64>,
    /// When it is whose turn, and the arm that this is the loop of, if arms take turns.
    turn: Option<(Turns, u64)>,
    /// Measured requests that have begun.
    begun: AtomicU64,
    ended: AtomicBool,
    end: Notify,
    timeline: Arc<Timeline>,
}

impl ClosedLoop {
    pub fn new(think: Duration, limit: Option<u64>, turn: Option<(Turns, u64)>, timeline: Arc<Timeline>) -> Self {
        Self {
            think,
            limit,
            turn,
            begun: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            end: Notify::new(),
            timeline,
        }
    }

    /// Ends the loop: no further request begins.
    pub fn end(&self) {
        self.ended.store(true, Relaxed);
        self.end.notify_waiters();
    }

    /// Whether no further request will begin.
    pub fn exhausted(&self) -> bool {
        self.ended.load(Relaxed) || self.all_begun()
    }

    /// Whether there is a limit, and it is reached.
    pub fn all_begun(&self) -> bool {
        self.limit.is_some_and(|limit| self.begun.load(Relaxed) >= limit)
    }

    async fn next(&self, timer: &Timer, rng: &mut (impl Rng + Send)) -> Option<Begin> {
        let from = Instant::now();
        let mut due = from + self.until_its_turn(from, exponential(self.think, rng));
        let now = loop {
            if due > from {
                self.wait_until(due, timer).await;
            }
            let now = Instant::now();
            // It may wake up when the turn is over.
            let more = self.until_its_turn(now, Duration::ZERO);
            if more.is_zero() || self.exhausted() {
                break now;
            }
            due = now + more;
        };
        let part = self.timeline.part(now);
        // The load may be over before anybody calls [`Self::end`].
        let over = self.ended.load(Relaxed) || self.timeline.when(now) == When::AfterEnd;
        if over || (part == Part::Measured && !self.take()) {
            return None;
        }
        Some(Begin {
            number: 0,
            intended: now,
            lag: now.saturating_duration_since(due),
            part,
        })
    }

    /// Waits until this instant, or until the loop ends.
    async fn wait_until(&self, due: Instant, timer: &Timer) {
        let end = self.end.notified();
        tokio::pin!(end);
        // From here on a notification is not missed.
        end.as_mut().enable();
        if !self.exhausted() {
            tokio::select! {
                () = timer.sleep_until(due) => {}
                () = end => {}
            }
        }
    }

    /// The pause from this instant on, longer if the arm's turn comes later. In the warm-up there are no turns.
    fn until_its_turn(&self, from: Instant, pause: Duration) -> Duration {
        let measured = |origin: &Instant| from + pause >= *origin;
        let (Some((turns, arm)), Some(origin)) = (self.turn, self.timeline.origin().filter(measured)) else {
            return pause;
        };
        let at = (from + pause).saturating_duration_since(origin);
        let turn = Duration::from_secs(turns.next(arm, at.as_secs()));
        pause + turn.saturating_sub(at)
    }

    /// Takes one of the measured requests, if there is one left.
    fn take(&self) -> bool {
        let next = |begun| {
            let free = self.limit.is_none_or(|limit| begun < limit);
            free.then_some(begun + 1)
        };
        let taken = self.begun.fetch_update(Relaxed, Relaxed, next).is_ok();
        if self.limit.is_some() && self.exhausted() {
            // Workers in their pause have nothing to wait for.
            self.end.notify_waiters();
        }
        taken
    }
}

/// The requests that were dealt to one arm on one app server, and wait there for a free worker.
#[derive(Debug)]
pub struct Queue {
    waiting: Mutex<VecDeque<Begin>>,
    come: Notify,
    closed: AtomicBool,
    /// Measured requests that were dealt.
    dealt: AtomicU64,
    /// Requests that were dealt and have not ended.
    busy: AtomicU64,
    timeline: Arc<Timeline>,
}

impl Queue {
    pub fn new(timeline: Arc<Timeline>) -> Self {
        Self {
            waiting: Mutex::default(),
            come: Notify::new(),
            closed: AtomicBool::new(false),
            dealt: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            timeline,
        }
    }

    /// Adds a request.
    pub fn deal(&self, request: Begin) {
        if request.part == Part::Measured {
            self.dealt.fetch_add(1, Relaxed);
        }
        self.busy.fetch_add(1, Relaxed);
        self.waiting().push_back(request);
        self.come.notify_one();
    }

    /// Notes that a request has ended.
    pub fn ended_one(&self) {
        self.busy.fetch_sub(1, Relaxed);
    }

    /// Requests that were dealt and have not ended.
    pub fn busy(&self) -> u64 {
        self.busy.load(Relaxed)
    }

    /// Measured requests that were dealt.
    pub fn dealt(&self) -> u64 {
        self.dealt.load(Relaxed)
    }

    /// How many of the requests that were dealt have begun, if there is no warm-up.
    pub fn begun(&self) -> u64 {
        let first = self.waiting().front().map(|begin| begin.number);
        first.unwrap_or_else(|| self.dealt())
    }

    /// Closes the queue: no further request begins, not even those that wait.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
        self.come.notify_waiters();
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Begin>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn next(&self) -> Option<Begin> {
        loop {
            let come = self.come.notified();
            tokio::pin!(come);
            // From here on a notification is not missed.
            come.as_mut().enable();
            // The load may be over before anybody closes the queue.
            if self.closed.load(Relaxed) || self.timeline.when(Instant::now()) == When::AfterEnd {
                return None;
            }
            if let Some(request) = self.waiting().pop_front() {
                return Some(request);
            }
            come.await;
        }
    }
}

/// A sample of the exponential distribution, by inversion.
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

    const HOUR: Duration = Duration::from_hours(1);

    fn request(part: Part) -> Begin {
        Begin {
            number: 0,
            intended: Instant::now(),
            lag: Duration::ZERO,
            part,
        }
    }

    #[tokio::test]
    async fn a_limit_ends_the_arm_and_warm_up_does_not_count() {
        let timeline = Arc::new(Timeline::new());
        let closed = ClosedLoop::new(Duration::ZERO, Some(3), None, Arc::clone(&timeline));
        let (timer, mut rng) = (Timer::start(), SmallRng::seed_from_u64(1));
        for _ in 0..10 {
            let begin = closed.next(&timer, &mut rng).await.expect("the warm-up has no limit");
            assert_eq!(begin.part, Part::WarmUp);
        }
        timeline.begin(Instant::now());
        for _ in 0..3 {
            let begin = closed.next(&timer, &mut rng).await.expect("one of three");
            assert_eq!(begin.part, Part::Measured);
        }
        assert!(closed.exhausted());
        assert!(closed.next(&timer, &mut rng).await.is_none());
    }

    #[tokio::test]
    async fn an_end_wakes_pausing_and_idle_workers() {
        let closed = Arc::new(ClosedLoop::new(HOUR, None, None, Arc::default()));
        let queue = Arc::new(Queue::new(Arc::default()));
        let timer = Timer::start();
        let pausing = tokio::spawn({
            let (closed, timer) = (Arc::clone(&closed), timer.clone());
            async move { closed.next(&timer, &mut SmallRng::seed_from_u64(3)).await.is_none() }
        });
        let idle = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.next().await.is_none() }
        });
        tokio::task::yield_now().await;
        closed.end();
        queue.close();
        assert!(pausing.await.expect("no panic") && idle.await.expect("no panic"));
    }

    #[test]
    fn an_arm_waits_for_its_turn_and_begins_at_once_within_it() {
        let second = Duration::from_secs;
        let timeline = Arc::new(Timeline::new());
        let turns = Turns::of(second(1), 2);
        let of_arm = |arm| ClosedLoop::new(Duration::ZERO, None, Some((turns, arm)), Arc::clone(&timeline));
        let (a, b) = (of_arm(0), of_arm(1));
        let origin = Instant::now();
        assert_eq!(
            b.until_its_turn(origin, second(1)),
            second(1),
            "the warm-up has no turns"
        );
        timeline.begin(origin);
        // A B B A A B B A
        let half = Duration::from_millis(500);
        let pauses = |closed: &ClosedLoop| {
            [0, 1, 2, 3].map(|at| closed.until_its_turn(origin + second(at) + half, Duration::ZERO))
        };
        assert_eq!(pauses(&a), [Duration::ZERO, half + second(1), half, Duration::ZERO]);
        assert_eq!(pauses(&b), [half, Duration::ZERO, Duration::ZERO, half + second(1)]);
        // The turn is over when its own pause is.
        assert_eq!(a.until_its_turn(origin + half, second(1)), second(1) + half + second(1));
    }

    #[tokio::test]
    async fn requests_begin_in_order_and_those_that_wait_at_the_end_never_do() {
        let queue = Queue::new(Arc::default());
        let [first, second] = [request(Part::Measured), request(Part::Measured)];
        queue.deal(request(Part::WarmUp));
        queue.deal(first);
        queue.deal(second);
        assert_eq!((queue.dealt(), queue.busy()), (2, 3), "the warm-up counts as work only");
        assert_eq!(queue.next().await.map(|begin| begin.part), Some(Part::WarmUp));
        queue.ended_one();
        assert_eq!(queue.next().await.map(|begin| begin.intended), Some(first.intended));
        assert_eq!(queue.busy(), 2);
        queue.close();
        assert!(queue.next().await.is_none(), "the second was never begun");
    }

    #[tokio::test]
    async fn what_has_begun_is_known_also_of_what_still_waits() {
        let queue = Queue::new(Arc::default());
        for number in 0..3 {
            let request = request(Part::Measured);
            queue.deal(Begin { number, ..request });
        }
        for begun in 0..3 {
            assert_eq!((queue.begun(), queue.dealt()), (begun, 3));
            assert!(queue.next().await.is_some());
        }
        assert_eq!(queue.begun(), 3);
    }

    #[tokio::test]
    async fn every_request_wakes_a_worker() {
        let queue = Arc::new(Queue::new(Arc::default()));
        let workers: Vec<_> = (0..8)
            .map(|_| {
                let queue = Arc::clone(&queue);
                tokio::spawn(async move { queue.next().await.is_some() })
            })
            .collect();
        tokio::task::yield_now().await;
        for _ in 0..8 {
            queue.deal(request(Part::Measured));
        }
        for worker in workers {
            assert!(worker.await.expect("no panic"));
        }
    }
}
