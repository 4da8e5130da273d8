//! The load balancer of an open loop: a thread that deals each request to an app server when it is due.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::arrivals::Arrivals;
use super::balance::Balance;
use super::intake::{Begin, Queue};
use lockstorm_data::metrics::{Part, Timeline, When};
use lockstorm_data::scenario::SwarmSpec;

/// Deals requests from its start until it is ended. Request i is due at the same instant in every arm, and goes to the
/// same app server: arms differ only in their locks.
#[derive(Debug)]
pub(super) struct Dealer {
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<DealerState>,
    /// Signalled when the state changes from outside.
    changed: Condvar,
    timeline: Arc<Timeline>,
    /// Indexed by app server, then by arm.
    queues: Vec<Vec<Arc<Queue>>>,
    limit: Option<u64>,
    /// Whether each request goes to every app server.
    to_all: bool,
}

#[derive(Debug)]
struct DealerState {
    /// When the load began.
    since: Instant,
    arrivals: Arrivals,
    balance: Balance,
    /// The number of the next request.
    number: u64,
    /// Measured requests that were dealt or dropped.
    measured: u64,
    /// Those of them for which no app server was left; the same number for every arm.
    dropped: u64,
    /// How many requests were due in each second, since this was last taken.
    news: BTreeMap<i64, u64>,
    /// Whether the thread is to end.
    ended: bool,
}

impl DealerState {
    fn due(&self) -> Instant {
        // Rates are positive, so no time is infinite. A thousand years are longer than any run.
        self.since + Duration::try_from_secs_f64(self.arrivals.due()).unwrap_or(Duration::from_secs(1 << 35))
    }
}

impl Dealer {
    /// Starts dealing into `queues` (indexed by app server, then by arm), to one app server or `to_all` of them. The first request is
    /// due at `since`.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn start(
        swarm: &SwarmSpec,
        rate: f64,
        seed: u64,
        timeline: &Arc<Timeline>,
        queues: Vec<Vec<Arc<Queue>>>,
        since: Instant,
        to_all: bool,
    ) -> std::io::Result<Self> {
        let state = DealerState {
            since,
            arrivals: Arrivals::new(swarm.arrivals, rate, swarm.ramp.as_secs_f64(), seed),
            balance: Balance::new(swarm.balance, queues.len(), seed),
            number: 0,
            measured: 0,
            dropped: 0,
            news: BTreeMap::new(),
            ended: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            timeline: Arc::clone(timeline),
            queues,
            limit: swarm.requests,
            to_all,
        });
        let thread = thread::Builder::new().name("dealer".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.deal()
        })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Sets the rate from now on.
    pub fn set_rate(&self, rate: f64) {
        self.change(|state| {
            let now = state.since.elapsed().as_secs_f64();
            state.arrivals.set_rate(rate, now);
        });
    }

    /// Takes an app server out of rotation.
    pub fn remove(&self, server: usize) {
        self.change(|state| state.balance.remove(server));
    }

    /// Ends the load: what was due by now, or by the end of the timeline, is still dealt, and nothing after it. No worker
    /// begins another request.
    pub fn end(&mut self) {
        self.change(|state| state.ended = true);
        if let Some(thread) = self.thread.take() {
            // A dealer that panicked deals nothing any more, which is all that we want.
            let _ = thread.join();
        }
        for queue in self.shared.queues.iter().flatten() {
            queue.close();
        }
    }

    /// Whether each request goes to every app server.
    pub fn deals_to_all(&self) -> bool {
        self.shared.to_all
    }

    /// Measured requests that were due so far, for each arm; one that goes to all app servers counts once.
    pub fn offered(&self) -> u64 {
        self.shared.state().measured
    }

    /// How many requests were due in each second, since the last call.
    pub fn due_since(&self) -> BTreeMap<i64, u64> {
        std::mem::take(&mut self.shared.state().news)
    }

    /// Measured requests, for each arm, for which no app server was left.
    pub fn dropped(&self) -> u64 {
        self.shared.state().dropped
    }

    /// Whether all requests of a limited load have been dealt.
    pub fn exhausted(&self) -> bool {
        self.shared.limit.is_some_and(|limit| self.offered() >= limit)
    }

    fn change(&self, change: impl FnOnce(&mut DealerState)) {
        change(&mut self.shared.state());
        self.shared.changed.notify_all();
    }
}

impl Drop for Dealer {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, DealerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deal(&self) {
        let mut state = self.state();
        loop {
            let (now, due) = (Instant::now(), state.due());
            let over = self.timeline.when(due) == When::AfterEnd || (state.ended && due > now);
            if over || self.limit.is_some_and(|limit| state.measured >= limit) {
                return;
            }
            if due <= now {
                self.deal_one(&mut state, due, now);
            } else {
                let waited = self.changed.wait_timeout(state, due - now);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    fn deal_one(&self, state: &mut DealerState, due: Instant, now: Instant) {
        let request = Begin {
            number: state.number,
            intended: due,
            lag: now - due,
            part: self.timeline.part(due),
        };
        // Added up over all arms, so that every arm's request goes to the same app server.
        let busy = |server: usize| self.queues[server].iter().map(|queue| queue.busy()).sum();
        let measured = u64::from(request.part == Part::Measured);
        let servers: Vec<usize> = match self.to_all {
            true => state.balance.all().collect(),
            false => state.balance.pick(state.number, busy).into_iter().collect(),
        };
        for queue in servers.iter().flat_map(|server| &self.queues[*server]) {
            queue.deal(request);
        }
        if servers.is_empty() {
            state.dropped += measured;
        }
        if let Some(second) = self.timeline.when(due).second() {
            *state.news.entry(second).or_default() += servers.len().max(1) as u64;
        }
        state.number += 1;
        state.measured += measured;
        state.arrivals.advance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::scenario::{Arrivals as Kind, Balance as By};

    const MS: Duration = Duration::from_millis(1);

    fn swarm(requests: Option<u64>) -> SwarmSpec {
        SwarmSpec {
            servers: 2,
            workers: 1,
            rate: Some(1000.0),
            requests,
            ramp: Duration::ZERO,
            think: Duration::ZERO,
            turns: None,
            balance: By::RoundRobin,
            arrivals: Kind::Even,
        }
    }

    fn queues() -> Vec<Vec<Arc<Queue>>> {
        (0..2)
            .map(|_| (0..2).map(|_| Arc::new(Queue::new(Arc::default()))).collect())
            .collect()
    }

    fn dealt(queues: &[Vec<Arc<Queue>>]) -> Vec<u64> {
        queues.iter().flatten().map(|queue| queue.dealt()).collect()
    }

    #[test]
    fn only_requests_that_were_due_are_offered() {
        let queues = queues();
        let since = Instant::now();
        // The first 20 are warm-up: those due from 20 ms on count.
        let timeline = Arc::new(Timeline::from(since + MS * 20));
        timeline.end(since + MS * 60);
        let mut dealer =
            Dealer::start(&swarm(None), 1000.0, 1, &timeline, queues.clone(), since, false).expect("a thread");
        // The dealer may be late or ended late: it deals everything that was due by then, and only that.
        std::thread::sleep(MS * 100);
        dealer.end();
        assert_eq!((dealer.offered(), dealer.dropped()), (40, 0));
        assert_eq!(dealt(&queues), [20; 4], "each arm in turn");
        assert_eq!(dealer.due_since().into_iter().collect::<Vec<_>>(), [(-1, 20), (0, 40)]);
        assert!(dealer.due_since().is_empty(), "returned once");
    }

    #[test]
    fn a_tick_goes_to_every_app_server_that_is_left_and_counts_once() {
        let queues = queues();
        let since = Instant::now();
        let timeline = Arc::new(Timeline::from(since));
        let dealer =
            Dealer::start(&swarm(Some(5)), 1000.0, 1, &timeline, queues.clone(), since, true).expect("a thread");
        while !dealer.exhausted() {
            std::thread::sleep(MS);
        }
        assert_eq!((dealer.offered(), dealt(&queues)), (5, vec![5; 4]));
        assert_eq!(dealer.due_since().into_iter().collect::<Vec<_>>(), [(0, 10)]);
        drop(dealer);
        let dealer =
            Dealer::start(&swarm(Some(3)), 1000.0, 1, &timeline, queues.clone(), since, true).expect("a thread");
        dealer.remove(0);
        while !dealer.exhausted() {
            std::thread::sleep(MS);
        }
        drop(dealer);
        assert_eq!(dealt(&queues)[2..], [8; 2]);
    }

    #[test]
    fn a_limit_counts_measured_requests() {
        let queues = queues();
        let since = Instant::now();
        let timeline = Arc::new(Timeline::from(since + MS * 10));
        let dealer =
            Dealer::start(&swarm(Some(7)), 1000.0, 1, &timeline, queues.clone(), since, false).expect("a thread");
        while !dealer.exhausted() {
            std::thread::sleep(MS);
        }
        drop(dealer);
        assert_eq!(dealt(&queues).iter().sum::<u64>(), 14, "7 for each of two arms");
        assert_eq!(queues[0][0].busy() + queues[1][0].busy(), 17, "with the warm-up");
    }

    #[test]
    fn without_an_app_server_requests_are_dropped() {
        let queues = queues();
        let since = Instant::now();
        let timeline = Arc::new(Timeline::from(since));
        let mut dealer =
            Dealer::start(&swarm(None), 1000.0, 1, &timeline, queues.clone(), since, false).expect("a thread");
        dealer.remove(0);
        dealer.remove(1);
        let before = dealer.offered();
        std::thread::sleep(MS * 20);
        dealer.end();
        assert!(dealer.dropped() >= 10, "{}", dealer.dropped());
        assert_eq!(
            dealer.offered(),
            dealer.dropped() + dealt(&queues)[0] + dealt(&queues)[2]
        );
        assert!(dealt(&queues)[0] + dealt(&queues)[2] <= before + 1);
    }
}
