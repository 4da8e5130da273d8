//! App servers whose workers compete for a few locks, and write down what they believe. They are not those of `swarm`, which
//! would judge the lock engine by code that is built on it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lockstorm_lock::{AcquireOptions, Guard, Lock, NodeOptions, Nodes};
use lockstorm_lock::{Outcome, Wait};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::belief::Beliefs;
use super::waiting::{TEST_TIMEOUT, runtime};

/// Fewer keys than workers, so that somebody always waits.
const KEYS: usize = 4;

/// Longer than a test, so that a key that such a lock leaves behind is found.
const LONG_TTL: Duration = TEST_TIMEOUT.saturating_mul(20);

/// What happened to all workers of all app servers.
#[derive(Debug, Default)]
pub struct Counts {
    pub acquired: AtomicUsize,
    pub contended: AtomicUsize,
    /// Refused for another reason than contention.
    pub refused: AtomicUsize,
    /// Acquired, but lost before the release.
    pub lost: AtomicUsize,
    /// Acquires that were given up by dropping them.
    pub dropped: AtomicUsize,
    /// Extended at least once beyond their first validity.
    pub renewed: AtomicUsize,
}

/// Makes the lock of an app server.
pub type Strategy = fn(&Nodes, u64) -> Lock;

enum Order {
    Pause(Duration),
    Rest,
    Kill,
}

/// An app server: a thread with its own runtime.
pub struct AppServer {
    orders: UnboundedSender<Order>,
    thread: JoinHandle<()>,
    beliefs: Arc<Beliefs>,
    seed: u64,
}

impl AppServer {
    /// Starts one with eight workers that compete for keys, and eight with a key each and a TTL longer than the test.
    pub fn start(addrs: &[SocketAddr], strategy: Strategy, seed: u64, counts: &Arc<Counts>) -> Self {
        let (orders, inbox) = unbounded_channel();
        let beliefs = Arc::<Beliefs>::default();
        let thread = thread::spawn({
            let (addrs, beliefs, counts) = (addrs.to_vec(), Arc::clone(&beliefs), Arc::clone(counts));
            move || serve(&addrs, strategy, seed, &beliefs, &counts, inbox)
        });
        Self {
            orders,
            thread,
            beliefs,
            seed,
        }
    }

    /// Stops the whole app server for this long: workers, timers and renewals.
    pub fn pause(&self, time: Duration) {
        self.order(Order::Pause(time));
    }

    /// Ends the workers. What they hold or ask for is taken back in the background.
    pub fn rest(&self) {
        self.order(Order::Rest);
    }

    /// Ends everything without a chance to release anything.
    pub fn kill(self) -> Arc<Beliefs> {
        self.order(Order::Kill);
        self.thread.join().expect("no worker panicked");
        self.beliefs
    }

    /// The prefix of the keys that only its own workers use. They expire long after the test.
    pub fn own_keys(&self) -> String {
        own_keys(self.seed)
    }

    /// The beliefs of its workers so far.
    pub fn beliefs(&self) -> &Beliefs {
        &self.beliefs
    }

    fn order(&self, order: Order) {
        // If it is gone it has panicked, which its end will show.
        let _ = self.orders.send(order);
    }
}

fn own_keys(seed: u64) -> String {
    format!("own:{seed}:")
}

fn serve(
    addrs: &[SocketAddr],
    strategy: Strategy,
    seed: u64,
    beliefs: &Arc<Beliefs>,
    counts: &Arc<Counts>,
    mut inbox: UnboundedReceiver<Order>,
) {
    let runtime = runtime();
    runtime.block_on(async {
        let nodes = Nodes::connect(addrs, NodeOptions::default());
        let lock = strategy(&nodes, seed);
        let mut workers = JoinSet::new();
        for number in 0..8 {
            let rng = StdRng::seed_from_u64(seed + number);
            let worker = Worker {
                lock: lock.clone(),
                rng,
                beliefs: Arc::clone(beliefs),
                counts: Arc::clone(counts),
            };
            workers.spawn(worker.fight());
            workers.spawn(mind_own_business(lock.clone(), format!("{}{number}", own_keys(seed))));
        }
        loop {
            tokio::select! {
                order = inbox.recv() => match order {
                    Some(Order::Pause(time)) => thread::sleep(time),
                    Some(Order::Rest) => workers.shutdown().await,
                    Some(Order::Kill) | None => return,
                },
                Some(ended) = workers.join_next() => ended.expect("no worker panicked"),
            }
        }
    });
    beliefs.end_all();
    // All that was held goes with the runtime, and nothing more is sent.
    drop(runtime);
}

/// Holds a lock again and again that nobody else wants, and that would not expire.
async fn mind_own_business(lock: Lock, key: String) {
    let options = AcquireOptions::new().ttl(LONG_TTL);
    loop {
        if let Ok(guard) = lock.acquire(&key, &options).await {
            sleep(Duration::from_millis(3)).await;
            guard.release().await;
        }
        sleep(Duration::from_millis(3)).await;
    }
}

struct Worker {
    lock: Lock,
    rng: StdRng,
    beliefs: Arc<Beliefs>,
    counts: Arc<Counts>,
}

impl Worker {
    async fn fight(mut self) {
        loop {
            let key = self.rng.random_range(0..KEYS);
            let name = format!("hot:{key}");
            let options = self.options();
            let patience = if self.rng.random_bool(0.1) {
                Duration::from_millis(self.rng.random_range(0..10))
            } else {
                TEST_TIMEOUT
            };
            // The clone lets the worker change while its acquire is under way.
            let lock = self.lock.clone();
            match timeout(patience, lock.acquire(&name, &options)).await {
                Err(_) => count(&self.counts.dropped),
                Ok(Ok(guard)) => self.hold(key, guard, &options).await,
                Ok(Err(refusal)) => {
                    if refusal.outcome() == Outcome::Contended {
                        count(&self.counts.contended);
                    } else {
                        count(&self.counts.refused);
                    }
                    sleep(Duration::from_millis(2)).await;
                }
            }
        }
    }

    fn options(&mut self) -> AcquireOptions {
        let ttl = Duration::from_millis(self.rng.random_range(150..400));
        let retry = Wait::Retry {
            retries: 20,
            delay: Duration::from_millis(2),
            jitter: Duration::from_millis(8),
        };
        let mut options = AcquireOptions::new().ttl(ttl);
        options.renew = self.rng.random_bool(0.5).then_some(ttl / 3);
        options
            .wait([Wait::FailFast, retry, retry, Wait::Queue][self.rng.random_range(0..4)])
            .repair(self.rng.random())
    }

    /// Holds the lock for a moment, sometimes longer than its TTL, and ignores its loss.
    async fn hold(&mut self, key: usize, guard: Guard, options: &AcquireOptions) {
        let mut holding = self.beliefs.begin(key, &guard);
        let first = holding.belief();
        count(&self.counts.acquired);
        let looks = if self.rng.random_bool(0.05) { 20 } else { 1 };
        for _ in 0..looks {
            sleep(Duration::from_millis(self.rng.random_range(0..10)) + options.ttl / 20 * u32::from(looks > 1)).await;
            if self.rng.random_bool(0.1) {
                // A check shows whether it could be extended.
                let _ = guard.extend().await;
            }
            holding.look(&guard);
        }
        if holding.belief().end > first.end + Duration::from_millis(1) {
            count(&self.counts.renewed);
        }
        if guard.is_lost() {
            count(&self.counts.lost);
        }
        drop(holding);
        if self.rng.random() {
            guard.release().await;
        } else {
            drop(guard);
        }
    }
}

fn count(counter: &AtomicUsize) {
    counter.fetch_add(1, Relaxed);
}
