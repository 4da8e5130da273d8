//! The workloads on a real cache node, lock node and database: each count rises when it must, and not otherwise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockstorm_base::timer::Timer;
use lockstorm_data::metrics::{Count, Part, ProviderCall, Recorder, Sums, Tally, Time, Timeline};
use lockstorm_data::model::{Cause, HostId, NoVote, ServerId, Wait};
use lockstorm_data::scenario::{
    AccountLocks, ArmSpec, CacheFillSpec, CacheSpec, Catalogue, DatabaseSpec, DatabaseUrl, Fence, Follow, Initial,
    InventorySpec, JobSpec, LockKind, OnLoss, OnOutage, PaymentSpec, Popularity, Release, Renew, ServiceTime, StockIn,
    Topology, Update, WorkloadSpec,
};
use lockstorm_kit::RedisServer;
use lockstorm_lock::{Lock, NodeOptions, Nodes};
use lockstorm_run::store::{ArmDatabase, Store};
use lockstorm_run::workload::{
    Cache, Done, Happened, HeldLocks, Hurry, LiveSettings, Tools, Workload, connect_cache, orders_in_cache,
    prepare_cache, stock_sold_in_cache,
};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use redis::{FromRedisValue, cmd};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn constant(median: Duration) -> ServiceTime {
    ServiceTime { median, sigma: 0.0 }
}

/// An arm whose lock lasts longer than a request on any slow machine.
fn arm(lock: LockKind) -> ArmSpec {
    ArmSpec {
        command: Vec::new(),
        topology: Topology::default(),
        follow: Follow::default(),
        wait_replicas: 0,
        hosts: None,
        wait_timeout: Duration::from_millis(200),
        name: "arm".to_owned(),
        lock,
        ttl: ms(60_000),
        renew: Renew::Off,
        wait: Wait::FailFast,
        timeout: ms(30_000),
        node_timeout: ms(10_000),
        host: HostId(1),
        update: Update::ReadWrite,
        fence: Fence::Off,
        serve_stale: true,
        second_look: true,
        on_loss: OnLoss::CarryOn,
        lifetime: None,
        on_outage: OnOutage::GiveUp,
        release: Release::AfterWrite,
        locks: AccountLocks::InOrder,
    }
}

/// The same, but it waits for the lock.
fn waiting(lock: LockKind) -> ArmSpec {
    ArmSpec {
        wait: Wait::Retry {
            retries: 10_000,
            delay: ms(2),
            jitter: ms(2),
        },
        ..arm(lock)
    }
}

/// An arm whose lock is lost long before 300 ms of work are done.
fn losing(on_loss: OnLoss) -> ArmSpec {
    ArmSpec {
        ttl: ms(20),
        node_timeout: ms(15),
        wait: Wait::Retry {
            retries: 100,
            delay: ms(1),
            jitter: ms(0),
        },
        on_loss,
        ..arm(LockKind::Single)
    }
}

/// An arm that stops without its lock, which lasts.
fn lasting() -> ArmSpec {
    ArmSpec {
        on_loss: OnLoss::Abort,
        ..arm(LockKind::Single)
    }
}

fn updating(update: Update, arm: ArmSpec) -> ArmSpec {
    ArmSpec { update, ..arm }
}

fn fenced(fence: Fence, arm: ArmSpec) -> ArmSpec {
    ArmSpec { fence, ..arm }
}

fn cache(name: &str, keys: u64, pages: Option<u32>) -> CacheSpec {
    CacheSpec {
        name: name.to_owned(),
        keys,
        popularity: Popularity::Uniform,
        state_ttl: ms(100_000),
        data_ttl: ms(200_000),
        pages,
        weight: 1.0,
    }
}

fn reads(pages: Option<u32>) -> WorkloadSpec {
    WorkloadSpec::CacheFill(CacheFillSpec {
        caches: vec![cache("offers", 1, pages)],
    })
}

fn sells(stock_in: StockIn, hold: Duration) -> WorkloadSpec {
    WorkloadSpec::Inventory(InventorySpec {
        products: 1,
        stock: 10,
        popularity: Popularity::Uniform,
        hold: constant(hold),
        stock_in,
    })
}

/// One app server with its workers, one arm, and one node that is both cache node and lock node.
struct Bench {
    node: Arc<RedisServer>,
    work: Option<Arc<Workload>>,
    database: DatabaseSpec,
    spec: WorkloadSpec,
    recorder: Arc<Recorder>,
    live_settings: Arc<LiveSettings>,
    hurry: Hurry,
    after: TaskTracker,
    store: Store,
    cache: Cache,
    held_locks: Arc<HeldLocks>,
    _dir: TempDir,
}

impl Bench {
    async fn new(node: &Arc<RedisServer>, arm: ArmSpec, spec: WorkloadSpec, read: Duration) -> Self {
        let initial = spec.about().initial();
        Self::with(node, node, arm, spec, read, initial).await
    }

    /// Reads of one object, which the provider takes this long for.
    async fn reading(node: &Arc<RedisServer>, arm: ArmSpec, read: Duration) -> Self {
        Self::new(node, arm, reads(None), read).await
    }

    /// Sales of one product in the database, with this hold.
    async fn selling(node: &Arc<RedisServer>, arm: ArmSpec, hold: Duration) -> Self {
        Self::new(node, arm, sells(StockIn::Database, hold), ms(0)).await
    }

    async fn with(
        node: &Arc<RedisServer>,
        lock_node: &RedisServer,
        arm: ArmSpec,
        spec: WorkloadSpec,
        read: Duration,
        initial: Initial,
    ) -> Self {
        let database = DatabaseSpec {
            url: DatabaseUrl::sqlite(),
            url_env: None,
            exposed: None,
            read: constant(read),
            pool: 8,
        };
        let dir = TempDir::new().expect("a directory");
        let place = ArmDatabase::create(&database, 0, "test", dir.path(), &initial)
            .await
            .expect("a place");
        let store = place.open(database.pool).await.expect("a pool");
        let cache = connect_cache(node.addr(), 0).await.expect("the cache node");
        if let Some(ledger) = spec.about().ledger() {
            prepare_cache(&ledger, &cache).await.expect("the stock keys");
        }
        let nodes = Nodes::connect(&[lock_node.addr()], NodeOptions::default());
        nodes.ready(ms(5000)).await;
        let lock = match arm.lock {
            LockKind::None => Lock::none(),
            LockKind::Local => Lock::local(),
            LockKind::Single | LockKind::Cluster => Lock::single(&nodes, 0, 1),
            LockKind::Redlock => Lock::redlock(&nodes, 1),
            LockKind::Postgres | LockKind::Etcd | LockKind::Client | LockKind::Reported => {
                unreachable!("no test here has another program's")
            }
        };
        let timeline = Timeline::from(std::time::Instant::now());
        let bench = Self {
            node: Arc::clone(node),
            spec,
            recorder: Arc::new(Recorder::new(Arc::new(timeline))),
            live_settings: Arc::new(LiveSettings::default()),
            hurry: Hurry::default(),
            after: TaskTracker::new(),
            store,
            cache,
            work: None,
            held_locks: Arc::default(),
            database,
            _dir: dir,
        };
        let work = bench.workload(arm, lock);
        Self {
            work: Some(Arc::new(work)),
            ..bench
        }
    }

    /// The same work with another lock.
    fn workload(&self, arm: ArmSpec, lock: Lock) -> Workload {
        let tools = Tools {
            key_prefix: "".into(),
            arm: Arc::new(arm),
            locks: [lock.clone().into(), lock.into()],
            store: self.store.clone(),
            cache: self.cache.clone(),
            live_settings: Arc::clone(&self.live_settings),
            timer: Timer::start(),
            stalls: Arc::default(),
            hurry: self.hurry.clone(),
            waiting: Arc::default(),
            held_locks: Arc::clone(&self.held_locks),
            after: self.after.clone(),
            server: ServerId(1),
        };
        Workload::new(&self.spec, &self.database, tools).expect("it can be played")
    }

    fn work(&self) -> Arc<Workload> {
        Arc::clone(self.work.as_ref().expect("it is made with the bench"))
    }

    /// Makes one request, and returns what it counted.
    async fn request(&self) -> Tally {
        self.requests(1).await
    }

    /// Several workers make a request each at the same time; returns what they counted.
    async fn requests(&self, workers: usize) -> Tally {
        let tasks: Vec<_> = (0..workers).map(|worker| self.start(worker)).collect();
        for task in tasks {
            task.await.expect("a worker");
        }
        self.taken()
    }

    /// What was counted since the last time.
    fn taken(&self) -> Tally {
        self.recorder.take()
    }

    fn start(&self, worker: usize) -> tokio::task::JoinHandle<Done> {
        let (work, recorder) = (self.work(), Arc::clone(&self.recorder));
        tokio::spawn(async move {
            let mut rng = SmallRng::seed_from_u64(worker as u64);
            let begun = Instant::now();
            let done = work.request(recorder.of(Part::Measured), &mut rng, worker, 0).await;
            if let Done::Ended(failure) = done {
                recorder.of(Part::Measured).ended(begun, begun, failure);
            }
            done
        })
    }

    fn query<T: FromRedisValue>(&self, command: &str, args: &[&str]) -> T {
        self.node.query(cmd(command).arg(args))
    }

    /// Makes the value of the only cache no longer fresh.
    fn expire(&self) {
        let deleted: u64 = self.query("DEL", &["offers:0:CacheState"]);
        assert_eq!(deleted, 1, "it was fresh");
    }

    /// Somebody else takes the lock, and keeps it.
    fn take_lock(&self, key: &str) {
        self.query::<()>("SET", &[key, "somebody else", "PX", "600000"]);
    }

    /// (orders, units left) of the only product.
    async fn books(&self) -> (u64, u64) {
        let (orders, stock) = match &self.spec {
            WorkloadSpec::Inventory(spec) if spec.stock_in == StockIn::Redis => (
                orders_in_cache(0, u32::MAX, &self.cache).await.expect("the ledger"),
                stock_sold_in_cache(u64::MAX, 0..1, &self.cache)
                    .await
                    .expect("the stock keys"),
            ),
            _ => (
                self.store.orders_since(0, u32::MAX).await.expect("the ledger"),
                self.store.stock_other_than(u64::MAX, 0..1).await.expect("the stock"),
            ),
        };
        assert_eq!(stock.len(), 1);
        if let WorkloadSpec::Inventory(spec) = &self.spec {
            let sold = match spec.stock_in {
                StockIn::Redis => stock_sold_in_cache(spec.stock, 0..spec.products, &self.cache)
                    .await
                    .expect("the stock keys"),
                StockIn::Database => self
                    .store
                    .stock_other_than(spec.stock, 0..spec.products)
                    .await
                    .expect("the stock"),
            };
            let expected = stock.iter().filter(|(_, units)| *units != spec.stock);
            assert_eq!(sold, expected.copied().collect::<Vec<_>>(), "what the last look reads");
        }
        (orders.len() as u64, stock[0].1)
    }
}

const ANSWERS: [(Count, &str); 11] = [
    (Count::Hits, "hits"),
    (Count::StaleReads, "stale"),
    (Count::GaveUp, "gave up"),
    (Count::SoldOut, "sold out"),
    (Count::LocksLost, "lost"),
    (Count::Overran, "overran"),
    (Count::LateWrites, "wrote late"),
    (Count::Aborted, "aborted"),
    (Count::Fenced, "fenced"),
    (Count::Errors, "errors"),
    (Count::CutOff, "cut off"),
];

/// Everything that was counted, provider calls included: `2 hits, 1 calls`. Sales are in the ledger.
fn counted(tally: &Tally) -> String {
    let sums = sums(tally);
    let lists = tally.batches.iter().flat_map(|batch| &batch.damaged_lists);
    let (duplicate, missing) = lists.fold((0, 0), |(duplicate, missing), list| {
        (duplicate + list.duplicate, missing + list.missing)
    });
    let text = ANSWERS
        .iter()
        .map(|(count, name)| (sums.counts[*count], *name))
        .chain([
            (duplicate, "duplicate"),
            (missing, "missing"),
            (calls(tally).len() as u64, "calls"),
        ])
        .filter(|(n, _)| *n > 0)
        .map(|(n, name)| format!("{n} {name}"))
        .collect::<Vec<_>>()
        .join(", ");
    if text.is_empty() { "nothing".to_owned() } else { text }
}

fn sums(tally: &Tally) -> Sums {
    tally.sums(Part::Measured)
}

fn timed(tally: &Tally, time: Time) -> u64 {
    sums(tally).time(time).map_or(0, |times| times.len())
}

/// How many sections were timed, from the acquire and from its attempt.
fn held(tally: &Tally) -> [u64; 2] {
    [Time::Hold, Time::Needed].map(|time| timed(tally, time))
}

fn least(tally: &Tally, time: Time) -> u64 {
    sums(tally).time(time).map_or(0, |times| times.min())
}

fn calls(tally: &Tally) -> Vec<ProviderCall> {
    let calls = tally.batches.iter().flat_map(|batch| &batch.provider_calls);
    calls.copied().collect()
}

fn supersedes(tally: &Tally) -> Vec<u64> {
    calls(tally).iter().map(|call| call.supersedes).collect()
}

/// Runs a test alone, with its own node, on a runtime like an app server's.
fn test(body: impl AsyncFnOnce(Arc<RedisServer>)) {
    let _turn = lockstorm_kit::beside();
    let node = Arc::new(RedisServer::start());
    lockstorm_kit::runtime().block_on(body(node));
}

#[test]
fn a_value_is_filled_once_and_then_served() {
    test(async |node| {
        for lock in [LockKind::None, LockKind::Local, LockKind::Single, LockKind::Redlock] {
            node.query::<()>(&cmd("FLUSHALL"));
            let bench = Bench::reading(&node, arm(lock), ms(0)).await;
            let first = bench.request().await;
            assert_eq!(counted(&first), "1 calls", "{lock:?}");
            let call = ProviderCall {
                cache: 0,
                key: 0,
                supersedes: 0,
            };
            assert_eq!(calls(&first), [call]);
            assert_eq!(counted(&bench.request().await), "1 hits");

            let values: Vec<String> = bench.query("MGET", &["offers:0:CacheState", "offers:0", "offers:0:Version"]);
            assert_eq!(values, ["Active", "offers 0.0", "1"]);
            let (state, data): (u64, u64) = (
                bench.query("PTTL", &["offers:0:CacheState"]),
                bench.query("PTTL", &["offers:0"]),
            );
            assert!(state <= 100_000 && data > 100_000 && data <= 200_000, "{state} {data}");
            assert_eq!(node.keys(), 3, "the lock is released");

            bench.expire();
            let again = bench.request().await;
            assert_eq!((counted(&again).as_str(), supersedes(&again)), ("1 calls", vec![1]));
            // A value that is gone is not a hit, no matter what its state says.
            let _: u64 = bench.query("DEL", &["offers:0"]);
            let gone = bench.request().await;
            assert_eq!((counted(&gone).as_str(), supersedes(&gone)), ("1 calls", vec![2]));
        }
    });
}

#[test]
fn only_lock_arms_count_acquires() {
    test(async |node| {
        for (lock, acquired, votes) in [
            (LockKind::None, 0, None),
            (LockKind::Local, 1, None),
            (LockKind::Single, 1, Some((1, 1))),
            (LockKind::Redlock, 1, Some((1, 1))),
        ] {
            let bench = Bench::selling(&node, arm(lock), ms(0)).await;
            let tally = bench.request().await;
            assert_eq!(
                (sums(&tally).outcomes.acquired, sums(&tally).outcomes.total()),
                (acquired, acquired),
                "{lock:?}"
            );
            assert_eq!((tally.newest.votes, sums(&tally).acquires().len()), (votes, acquired));
            assert_eq!(timed(&tally, Time::Hold), 1);
            let locked = u64::from(votes.is_some());
            assert_eq!(sums(&tally).votes_at_release[1], locked);
            assert_eq!(sums(&tally).votes_in_the_end[1], locked);
        }
    });
}

/// Whoever finds nothing to do is done at once, whatever the TTL.
#[test]
fn only_sections_that_had_work_are_timed_and_can_overrun() {
    test(async |node| {
        let selling = Bench::selling(&node, waiting(LockKind::Single), ms(0)).await;
        let tally = selling.requests(12).await;
        assert_eq!((counted(&tally).as_str(), held(&tally)), ("2 sold out", [10, 10]));
        let reading = Bench::reading(&node, waiting(LockKind::Single), ms(50)).await;
        let tally = reading.requests(3).await;
        assert_eq!((counted(&tally).as_str(), held(&tally)), ("2 hits, 1 calls", [1, 1]));
        // An atomic sale finds out at its end.
        let WorkloadSpec::Inventory(spec) = sells(StockIn::Database, ms(300)) else {
            unreachable!("it sells")
        };
        let nothing = WorkloadSpec::Inventory(InventorySpec { stock: 0, ..spec });
        let late = updating(Update::Atomic, losing(OnLoss::CarryOn));
        let tally = Bench::new(&node, late, nothing, ms(0)).await.request().await;
        assert_eq!((counted(&tally).as_str(), held(&tally)), ("1 sold out, 1 lost", [0, 0]));
    });
}

#[test]
fn without_the_lock_stale_data_is_served_or_the_reader_gives_up() {
    test(async |node| {
        let serving = Bench::reading(&node, arm(LockKind::Single), ms(0)).await;
        let refusing = ArmSpec {
            serve_stale: false,
            ..arm(LockKind::Single)
        };
        let refusing = Bench::reading(&node, refusing, ms(0)).await;

        serving.take_lock("arm:offers:0");
        assert_eq!(
            counted(&serving.request().await),
            "1 gave up",
            "there is nothing to serve yet"
        );
        let _: u64 = serving.query("DEL", &["arm:offers:0"]);
        assert_eq!(counted(&serving.request().await), "1 calls");
        serving.take_lock("arm:offers:0");
        assert_eq!(
            counted(&serving.request().await),
            "1 hits",
            "what is fresh needs no lock"
        );
        serving.expire();
        let stale = serving.request().await;
        assert_eq!(
            (counted(&stale).as_str(), sums(&stale).outcomes.contended),
            ("1 stale", 1)
        );
        assert_eq!(counted(&refusing.request().await), "1 gave up");
    });
}

#[test]
fn a_stampede_calls_the_provider_as_often_as_the_lock_lets_it() {
    test(async |node| {
        let stampede = async |arm: ArmSpec| {
            let bench = Bench::reading(&node, arm, ms(100)).await;
            bench.request().await;
            bench.expire();
            let tally = bench.requests(6).await;
            let version: u64 = bench.query("GET", &["offers:0:Version"]);
            assert!(
                supersedes(&tally).iter().all(|seen| *seen < version),
                "{:?}",
                supersedes(&tally)
            );
            node.query::<()>(&cmd("FLUSHALL"));
            (counted(&tally), supersedes(&tally))
        };
        assert_eq!(stampede(arm(LockKind::None)).await, ("6 calls".to_owned(), vec![1; 6]));
        for lock in [LockKind::Local, LockKind::Single, LockKind::Redlock] {
            assert_eq!(
                stampede(arm(lock)).await,
                ("5 stale, 1 calls".to_owned(), vec![1]),
                "{lock:?}"
            );
            assert_eq!(
                stampede(waiting(lock)).await,
                ("5 hits, 1 calls".to_owned(), vec![1]),
                "{lock:?}"
            );
        }
        // A reader that does not look again fills what was filled while it waited, and counts the call for the version
        // that it saw.
        let blind = ArmSpec {
            second_look: false,
            ..waiting(LockKind::Local)
        };
        assert_eq!(stampede(blind).await, ("6 calls".to_owned(), vec![1; 6]));
    });
}

#[test]
fn a_reader_that_waited_in_vain_looks_again() {
    test(async |node| {
        let waiting_for = |timeout| ArmSpec {
            timeout,
            ..waiting(LockKind::Single)
        };
        let bench = Bench::reading(&node, waiting_for(ms(50)), ms(0)).await;
        bench.take_lock("arm:offers:0");
        assert_eq!(counted(&bench.request().await), "1 gave up");

        let bench = Bench::reading(&node, waiting_for(ms(1500)), ms(0)).await;
        let request = bench.start(0);
        // It looks, finds nothing, and waits. Meanwhile the holder of the lock fills the cache.
        tokio::time::sleep(ms(50)).await;
        bench.query::<()>("MSET", &["offers:0:CacheState", "Active", "offers:0", "x"]);
        request.await.expect("a worker");
        let tally = bench.taken();
        assert_eq!(counted(&tally), "1 hits");
        assert_eq!((sums(&tally).outcomes.acquired, sums(&tally).outcomes.total()), (0, 1));
    });
}

#[test]
fn a_call_is_counted_for_the_version_that_the_last_look_found() {
    test(async |node| {
        for second_look in [true, false] {
            node.query::<()>(&cmd("FLUSHALL"));
            let arm = ArmSpec {
                second_look,
                ..waiting(LockKind::Single)
            };
            let bench = Bench::reading(&node, arm, ms(0)).await;
            bench.query::<()>("SET", &["offers:0:Version", "3"]);
            bench.take_lock("arm:offers:0");
            bench.query::<()>("CONFIG", &["RESETSTAT"]);
            let request = bench.start(0);
            // When its first attempt has reached the node, it has looked.
            while !bench
                .query::<String>("INFO", &["commandstats"])
                .contains("cmdstat_set:")
            {
                tokio::time::sleep(ms(1)).await;
            }
            bench.query::<()>("SET", &["offers:0:Version", "5"]);
            let _: u64 = bench.query("DEL", &["arm:offers:0"]);
            request.await.expect("a worker");
            let tally = bench.taken();
            assert_eq!(supersedes(&tally), [if second_look { 5 } else { 3 }]);
        }
    });
}

#[test]
fn a_fill_is_announced_only_under_a_lock() {
    test(async |node| {
        for (lock, announced) in [
            (LockKind::None, false),
            (LockKind::Local, true),
            (LockKind::Single, true),
        ] {
            node.query::<()>(&cmd("FLUSHALL"));
            let bench = Bench::reading(&node, arm(lock), ms(300)).await;
            let request = bench.start(0);
            let mut seen = false;
            while !request.is_finished() {
                let state: Option<String> = bench.query("GET", &["offers:0:CacheState"]);
                seen |= state.as_deref() == Some("Inprogress");
                tokio::time::sleep(ms(5)).await;
            }
            assert_eq!(seen, announced, "{lock:?}");
        }
    });
}

#[test]
fn a_provider_that_fails_is_an_error_and_leaves_nothing_behind() {
    test(async |node| {
        for pages in [None, Some(3)] {
            // The cache has a key that the catalogue lacks: all pages except the last.
            let lacking = Initial {
                catalogue: vec![Catalogue {
                    cache: "offers".to_owned(),
                    keys: u64::from(pages.is_some()),
                    pages: pages.map(|pages| pages - 1),
                }],
                ..Initial::default()
            };
            let bench = Bench::with(&node, &node, arm(LockKind::Single), reads(pages), ms(0), lacking).await;
            let calls = pages.unwrap_or(1);
            assert_eq!(counted(&bench.request().await), format!("1 errors, {calls} calls"));
            let left: Vec<String> = node.query(cmd("KEYS").arg("*"));
            assert!(
                !left.iter().any(|key| key.ends_with("State") || key.starts_with("arm")),
                "{left:?}"
            );
            let again = bench.request().await;
            assert_eq!(counted(&again), format!("1 errors, {calls} calls"), "the lock is free");
        }
    });
}

#[test]
fn a_lost_lock_is_counted_and_only_an_arm_that_aborts_stops() {
    test(async |node| {
        for pages in [None, Some(2)] {
            let version = |bench: &Bench| bench.query::<Option<u64>>("GET", &["offers:0:Version"]);
            let calls = |n: u32| format!("{n} calls");

            let careful = Bench::new(&node, losing(OnLoss::Abort), reads(pages), ms(300)).await;
            assert_eq!(
                counted(&careful.request().await),
                format!("1 lost, 1 overran, 1 aborted, {}", calls(1))
            );
            assert_eq!(version(&careful), None, "nothing was written");

            let careless = Bench::new(&node, losing(OnLoss::CarryOn), reads(pages), ms(300)).await;
            assert_eq!(
                counted(&careless.request().await),
                format!("1 lost, 1 overran, 1 wrote late, {}", calls(pages.unwrap_or(1)))
            );
            assert_eq!(version(&careless), Some(1));

            node.query::<()>(&cmd("FLUSHALL"));
            let lasting = lasting();
            let lasting = Bench::new(&node, lasting, reads(pages), ms(10)).await;
            assert_eq!(counted(&lasting.request().await), calls(pages.unwrap_or(1)));
            node.query::<()>(&cmd("FLUSHALL"));
        }
    });
}

#[test]
fn a_list_is_filled_page_by_page_under_a_lock() {
    test(async |node| {
        for lock in [LockKind::Local, LockKind::Single, LockKind::Redlock] {
            node.query::<()>(&cmd("FLUSHALL"));
            let bench = Bench::new(&node, arm(lock), reads(Some(4)), ms(20)).await;
            let tally = bench.requests(5).await;
            assert_eq!(
                counted(&tally),
                "4 gave up, 4 calls",
                "{lock:?}: one fills, and half a list is not served"
            );
            let parts: Vec<_> = calls(&tally).iter().map(|call| (call.key, call.supersedes)).collect();
            assert_eq!(
                parts,
                [(0, 0), (1, 0), (2, 0), (3, 0)],
                "each page is a value of its own"
            );
            assert_eq!(counted(&bench.requests(3).await), "3 hits");
            let list: Vec<String> = bench.query("LRANGE", &["offers:0", "0", "-1"]);
            assert_eq!(list, ["1:offers 0.1", "2:offers 0.2", "3:offers 0.3", "4:offers 0.4"]);
            let data: u64 = bench.query("PTTL", &["offers:0"]);
            assert!(data > 100_000, "{data}");

            // The next version replaces the list instead of growing it.
            bench.expire();
            let again = bench.request().await;
            assert_eq!((counted(&again).as_str(), supersedes(&again)), ("4 calls", vec![1; 4]));
            assert_eq!(bench.query::<u64>("LLEN", &["offers:0"]), 4);
            assert_eq!(counted(&bench.request().await), "1 hits");
        }
    });
}

#[test]
fn a_list_is_under_way_until_its_last_page() {
    test(async |node| {
        let bench = Bench::new(&node, arm(LockKind::Single), reads(Some(3)), ms(200)).await;
        let request = bench.start(0);
        let script = "return {redis.call('GET', KEYS[1]), redis.call('LLEN', KEYS[2]), redis.call('PTTL', KEYS[1])}";
        let mut under_way = 0;
        while !request.is_finished() {
            let (state, length, ttl): (Option<String>, u64, i64) =
                bench.query("EVAL", &[script, "2", "offers:0:CacheState", "offers:0"]);
            match state.as_deref() {
                None => assert_eq!(length, 0),
                Some("Inprogress") => {
                    assert!(
                        length < 3 && (0..=60_000).contains(&ttl),
                        "announced for ever? {length} {ttl}"
                    );
                    under_way += 1;
                }
                Some(state) => assert_eq!((state, length), ("Active", 3)),
            }
            tokio::time::sleep(ms(10)).await;
        }
        assert!(under_way > 0);
        assert_eq!(counted(&bench.request().await), "1 hits, 3 calls");
    });
}

#[test]
fn without_a_lock_pages_are_pushed_twice() {
    test(async |node| {
        let bench = Bench::new(&node, arm(LockKind::None), reads(Some(4)), ms(100)).await;
        // All of them empty the list before the first one has a page to push.
        assert_eq!(counted(&bench.requests(3).await), "12 calls");
        assert_eq!(counted(&bench.request().await), "1 hits, 8 duplicate");
    });
}

#[test]
fn a_page_that_an_active_list_lacks_is_counted_as_missing() {
    test(async |node| {
        let bench = Bench::new(&node, arm(LockKind::Single), reads(Some(4)), ms(0)).await;
        bench.query::<()>("RPUSH", &["offers:0", "1:a", "3:c", "3:c"]);
        bench.query::<()>("SET", &["offers:0:CacheState", "Inprogress"]);
        bench.take_lock("arm:offers:0");
        assert_eq!(
            counted(&bench.request().await),
            "1 gave up",
            "half a list is judged only when it claims to be whole"
        );
        bench.query::<()>("SET", &["offers:0:CacheState", "Active"]);
        assert_eq!(counted(&bench.request().await), "1 hits, 1 duplicate, 2 missing");
    });
}

#[test]
fn choices_come_from_the_seed() {
    test(async |node| {
        let spec = WorkloadSpec::CacheFill(CacheFillSpec {
            caches: vec![cache("lists", 50, Some(2)), cache("offers", 1000, None)],
        });
        let mut runs = Vec::new();
        for _ in 0..2 {
            node.query::<()>(&cmd("FLUSHALL"));
            let bench = Bench::new(&node, arm(LockKind::None), spec.clone(), ms(0)).await;
            let mut rng = SmallRng::seed_from_u64(42);
            for _ in 0..30 {
                bench
                    .work()
                    .request(bench.recorder.of(Part::Measured), &mut rng, 0, 0)
                    .await;
            }
            runs.push(calls(&bench.taken()));
        }
        assert_eq!(runs[0], runs[1]);
        for cache in [0, 1] {
            assert!(
                runs[0].iter().any(|call| call.cache == cache),
                "both caches are read: {:?}",
                runs[0]
            );
        }
    });
}

#[test]
fn stock_is_sold_until_it_is_sold_out() {
    test(async |node| {
        for stock_in in [StockIn::Database, StockIn::Redis] {
            for update in [Update::ReadWrite, Update::Atomic] {
                let arm = updating(update, arm(LockKind::None));
                let bench = Bench::new(&node, arm, sells(stock_in, ms(0)), ms(0)).await;
                for left in (0..10).rev() {
                    assert_eq!(counted(&bench.request().await), "nothing");
                    assert_eq!(bench.books().await, (10 - left, left), "{stock_in:?} {update:?}");
                }
                assert_eq!(counted(&bench.requests(3).await), "3 sold out");
                assert_eq!(bench.books().await, (10, 0));
            }
        }
    });
}

#[test]
fn without_a_lock_updates_are_lost_and_with_one_they_are_not() {
    test(async |node| {
        for stock_in in [StockIn::Database, StockIn::Redis] {
            let sell = async |arm: ArmSpec, hold: Duration| {
                let bench = Bench::new(&node, arm, sells(stock_in, hold), ms(0)).await;
                assert_eq!(counted(&bench.requests(4).await), "nothing");
                bench.books().await
            };
            assert_eq!(
                sell(arm(LockKind::None), ms(100)).await,
                (4, 9),
                "{stock_in:?}: all read 10 units"
            );
            for lock in [LockKind::Local, LockKind::Single, LockKind::Redlock] {
                assert_eq!(sell(waiting(lock), ms(20)).await, (4, 6), "{stock_in:?} {lock:?}");
            }
        }
    });
}

#[test]
fn the_atomic_way_needs_no_lock() {
    test(async |node| {
        for stock_in in [StockIn::Database, StockIn::Redis] {
            let atomic = updating(Update::Atomic, arm(LockKind::None));
            let bench = Bench::new(&node, atomic, sells(stock_in, ms(10)), ms(0)).await;
            assert_eq!(counted(&bench.requests(16).await), "6 sold out", "{stock_in:?}");
            assert_eq!(bench.books().await, (10, 0));
        }
    });
}

#[test]
fn customers_give_up_without_the_lock() {
    test(async |node| {
        let bench = Bench::selling(&node, arm(LockKind::Single), ms(0)).await;
        bench.take_lock("arm:product:0");
        let tally = bench.request().await;
        assert_eq!(
            (counted(&tally).as_str(), sums(&tally).outcomes.contended),
            ("1 gave up", 1)
        );
        assert_eq!(
            (&tally.newest.lacking[..], timed(&tally, Time::Hold)),
            (&[][..], 0),
            "contention is no trouble with nodes"
        );
        assert_eq!(bench.books().await, (0, 10));
    });
}

#[test]
fn a_dead_lock_node_gives_no_quorum_with_its_cause() {
    test(async |node| {
        let mut lock_node = RedisServer::start();
        let spec = sells(StockIn::Database, ms(0));
        let initial = spec.about().initial();
        let bench = Bench::with(&node, &lock_node, arm(LockKind::Single), spec, ms(0), initial).await;
        assert_eq!(counted(&bench.request().await), "nothing");
        lock_node.kill();
        // The first request may still meet the broken connection.
        let mut tally = bench.request().await;
        while sums(&tally).outcomes.no_quorum == 0 {
            assert_eq!(counted(&tally), "1 gave up");
            tally = bench.request().await;
        }
        assert_eq!(counted(&tally), "1 gave up");
        assert_eq!(sums(&tally).causes.values().sum::<u64>(), 1, "one node, one cause");
        let down = NoVote {
            node: 1,
            cause: Cause::Refused,
        };
        assert_eq!(tally.newest.lacking, [down]);
    });
}

#[test]
fn a_lost_lock_aborts_the_sale_or_does_not() {
    test(async |node| {
        for update in [Update::ReadWrite, Update::Atomic] {
            let sell = async |arm: ArmSpec, hold: Duration| {
                let arm = updating(update, arm);
                let bench = Bench::selling(&node, arm, hold).await;
                let tally = bench.request().await;
                (counted(&tally), bench.books().await)
            };
            let aborted = ("1 lost, 1 overran, 1 aborted".to_owned(), (0, 10));
            assert_eq!(sell(losing(OnLoss::Abort), ms(300)).await, aborted);
            assert_eq!(
                sell(losing(OnLoss::CarryOn), ms(300)).await,
                ("1 lost, 1 overran, 1 wrote late".to_owned(), (1, 9))
            );
            let lasting = lasting();
            assert_eq!(sell(lasting, ms(10)).await, ("nothing".to_owned(), (1, 9)));
        }
    });
}

/// Who comes next reads the stock as it was, sooner or later.
#[test]
fn a_lock_that_is_released_before_the_write_loses_sales() {
    test(async |node| {
        for (release, rounds) in [(Release::AfterWrite, 20), (Release::BeforeWrite, 1_000)] {
            let arm = ArmSpec {
                release,
                wait: Wait::Queue,
                ..arm(LockKind::Single)
            };
            let WorkloadSpec::Inventory(spec) = sells(StockIn::Database, ms(0)) else {
                unreachable!("it sells")
            };
            let stock = 100_000;
            let spec = WorkloadSpec::Inventory(InventorySpec { stock, ..spec });
            let bench = Bench::new(&node, arm, spec, ms(0)).await;
            let mut lost = 0;
            for _ in 0..rounds {
                assert_eq!(counted(&bench.requests(8).await), "nothing");
                let (orders, left) = bench.books().await;
                lost = orders + left - stock;
                if lost > 0 {
                    break;
                }
            }
            assert_eq!(lost > 0, release == Release::BeforeWrite, "{release:?}: {lost}");
        }
    });
}

#[test]
fn an_arm_that_proceeds_works_without_a_node_and_not_beside_another_holder() {
    test(async |node| {
        for (on_outage, sold) in [(OnOutage::Proceed, true), (OnOutage::GiveUp, false)] {
            let mut lock_node = RedisServer::start();
            let arm = ArmSpec {
                on_outage,
                ..arm(LockKind::Single)
            };
            let spec = sells(StockIn::Database, ms(0));
            let initial = spec.about().initial();
            let bench = Bench::with(&node, &lock_node, arm, spec, ms(0), initial).await;
            lock_node.query::<()>(cmd("SET").arg(&["arm:product:0", "somebody else"]));
            assert_eq!(counted(&bench.request().await), "1 gave up");
            assert_eq!(bench.books().await, (0, 10));
            lock_node.kill();
            let tally = bench.request().await;
            assert_eq!(sums(&tally).outcomes.acquired, 0);
            assert_eq!(bench.books().await == (1, 9), sold, "{on_outage:?}");
            assert_eq!(counted(&tally), if sold { "nothing" } else { "1 gave up" });
        }
    });
}

/// Several of them are inside at once, although none of them holds the lock.
#[test]
fn work_that_proceeds_without_a_lock_is_inside_and_holds_nothing() {
    test(async |node| {
        let mut lock_node = RedisServer::start();
        let arm = ArmSpec {
            on_outage: OnOutage::Proceed,
            ..arm(LockKind::Single)
        };
        let spec = sells(StockIn::Database, ms(0));
        let initial = spec.about().initial();
        let bench = Bench::with(&node, &lock_node, arm, spec, ms(0), initial).await;
        let has_lock = async || {
            bench.request().await;
            let news = bench.held_locks.news(Vec::new(), std::iter::empty());
            let holds = news.into_iter().map(|news| match news.what {
                Happened::Began(hold) | Happened::Ended(hold) => hold.has_lock,
                other => panic!("{other:?}"),
            });
            holds.collect::<Vec<_>>()
        };
        assert_eq!(has_lock().await, [true; 2]);
        lock_node.kill();
        assert_eq!(has_lock().await, [false; 2]);
    });
}

#[test]
fn a_lock_with_a_lifetime_ends_although_it_is_renewed() {
    test(async |node| {
        for (lifetime, ends) in [(Some(ms(300)), true), (None, false)] {
            let arm = ArmSpec {
                ttl: ms(300),
                node_timeout: ms(200),
                renew: Renew::Fraction(3),
                lifetime,
                ..lasting()
            };
            let bench = Bench::selling(&node, arm, ms(900)).await;
            let tally = bench.request().await;
            assert_eq!(sums(&tally).counts[Count::Aborted] == 1, ends, "{lifetime:?}");
            assert_eq!(bench.books().await, if ends { (0, 10) } else { (1, 9) });
        }
    });
}

#[test]
fn a_tick_runs_again_if_nobody_looks_whether_it_has_run() {
    test(async |node| {
        for (second_look, runs) in [(true, 1), (false, 2)] {
            let arm = ArmSpec {
                second_look,
                ..waiting(LockKind::Single)
            };
            let spec = WorkloadSpec::Job(JobSpec {
                jobs: 1,
                hold: constant(ms(1)),
                skew: ms(10),
                ticks: 1,
            });
            let bench = Bench::new(&node, arm, spec, ms(0)).await;
            let said = counted(&bench.requests(2).await);
            assert_eq!(said, if second_look { "1 sold out" } else { "nothing" });
            assert_eq!(bench.books().await, (runs, 0));
        }
    });
}

/// Two accounts, and everybody pays from one of them to the other.
#[test]
fn payments_keep_the_money_under_both_locks_and_wait_in_a_circle_out_of_order() {
    test(async |node| {
        for (locks, keeps, circles) in [
            (AccountLocks::InOrder, true, false),
            (AccountLocks::AsPaid, true, true),
            (AccountLocks::Payer, false, false),
        ] {
            let arm = ArmSpec {
                locks,
                wait: Wait::Queue,
                // Nobody in order waits for so long; whoever is in a circle does.
                timeout: if circles { ms(300) } else { ms(60_000) },
                ..arm(LockKind::Single)
            };
            let spec = WorkloadSpec::Payment(PaymentSpec {
                accounts: 2,
                money: 1000,
                hold: constant(ms(1)),
            });
            let bench = Bench::new(&node, arm, spec, ms(0)).await;
            let (mut off, mut gave_up) = (0, 0);
            for round in 0..1_000 {
                let sums = sums(&bench.requests(8).await);
                gave_up += sums.counts[Count::GaveUp];
                // Whoever pays has money.
                assert_eq!(sums.counts[Count::SoldOut], 0, "{locks:?}");
                let accounts = bench.store.stock_other_than(u64::MAX, 0..2).await.expect("accounts");
                off = accounts.iter().map(|(_, money)| money).sum::<u64>().abs_diff(2_000);
                // The money that is made and lost may come to nothing.
                if round >= 20 && (keeps || off > 0) && (!circles || gave_up > 0) {
                    break;
                }
            }
            assert_eq!((off == 0, gave_up > 0), (keeps, circles), "{locks:?}: {off}, {gave_up}");
        }
    });
}

/// Nobody pays what is not there.
#[test]
fn an_empty_account_pays_nothing() {
    test(async |node| {
        let spec = WorkloadSpec::Payment(PaymentSpec {
            accounts: 2,
            money: 1,
            hold: constant(ms(1)),
        });
        let bench = Bench::new(&node, waiting(LockKind::Single), spec, ms(0)).await;
        let refused = sums(&bench.requests(64).await).counts[Count::SoldOut];
        let orders = bench.store.orders_since(0, u32::MAX).await.expect("orders");
        assert!(refused > 0);
        assert_eq!(orders.len() as u64, 2 * (64 - refused));
        assert!(orders.iter().all(|order| order.units <= 2), "{orders:?}");
    });
}

/// The first customer loses the lock while thinking, the second one comes in, and either may write first.
#[test]
fn a_fence_refuses_the_sale_of_a_lost_lock() {
    test(async |node| {
        let both = ("2 lost, 2 overran, 2 wrote late", (2, 9));
        let one = ("2 lost, 2 overran, 1 wrote late, 1 fenced", (1, 9));
        for (fence, second_first, first_first) in [
            (Fence::Off, both, both),
            (Fence::Write, one, both),
            (Fence::ReadWrite, one, one),
        ] {
            for (holds, expected) in [((600, 100), second_first), ((400, 800), first_first)] {
                let arm = ArmSpec {
                    ttl: ms(60),
                    fence,
                    ..losing(OnLoss::CarryOn)
                };
                let bench = Bench::selling(&node, arm, ms(holds.0)).await;
                let held = || bench.query::<bool>("EXISTS", &["arm:product:0"]);
                let first = bench.start(1);
                for wanted in [true, false] {
                    while held() != wanted {
                        tokio::time::sleep(ms(1)).await;
                    }
                }
                bench.live_settings.set_hold(ms(holds.1));
                bench.start(2).await.expect("a worker");
                first.await.expect("a worker");
                let tally = bench.taken();
                assert_eq!(
                    (counted(&tally).as_str(), bench.books().await),
                    expected,
                    "{fence:?} {holds:?}"
                );
            }
        }
    });
}

#[test]
fn a_fence_never_refuses_the_holder_of_a_lasting_lock() {
    test(async |node| {
        for fence in [Fence::Write, Fence::ReadWrite] {
            for lock in [LockKind::Local, LockKind::Single, LockKind::Redlock] {
                let arm = fenced(fence, waiting(lock));
                let bench = Bench::selling(&node, arm, ms(10)).await;
                assert_eq!(counted(&bench.requests(4).await), "nothing", "{fence:?} {lock:?}");
                assert_eq!(bench.books().await, (4, 6));
                assert_eq!(counted(&bench.requests(8).await), "2 sold out");
            }
        }
    });
}

#[test]
fn without_a_lock_a_fence_lets_only_the_newest_reader_write() {
    test(async |node| {
        let sell = async |fence| {
            let arm = fenced(fence, arm(LockKind::None));
            let bench = Bench::selling(&node, arm, ms(200)).await;
            let tally = bench.requests(4).await;
            (counted(&tally), bench.books().await)
        };
        let newest = ("3 fenced".to_owned(), (1, 9));
        assert_eq!(sell(Fence::ReadWrite).await, newest, "all read before one writes");
        assert_eq!(sell(Fence::Off).await, ("nothing".to_owned(), (4, 9)));
    });
}

#[test]
fn a_missing_product_is_an_error() {
    test(async |node| {
        let spec = sells(StockIn::Database, ms(0));
        for fence in [Fence::Off, Fence::ReadWrite] {
            let arm = fenced(fence, waiting(LockKind::Single));
            let bench = Bench::with(&node, &node, arm, spec.clone(), ms(0), Initial::default()).await;
            assert_eq!(
                counted(&bench.requests(2).await),
                "2 errors",
                "and the lock is released"
            );
        }
        let bench = Bench::new(&node, arm(LockKind::None), sells(StockIn::Redis, ms(0)), ms(0)).await;
        let _: u64 = bench.query("DEL", &["stock:0"]);
        assert_eq!(counted(&bench.request().await), "1 errors");
    });
}

#[test]
fn turned_knobs_count_from_the_next_request_on() {
    test(async |node| {
        let bench = Bench::selling(&node, arm(LockKind::Single), ms(0)).await;
        bench.live_settings.set_hold(ms(150));
        bench.live_settings.set_ttl(ms(40_000));
        let request = bench.start(0);
        let ttl = || bench.query::<i64>("PTTL", &["arm:product:0"]);
        while ttl() < 0 {
            tokio::time::sleep(ms(1)).await;
        }
        assert!(ttl() <= 40_000);
        request.await.expect("a worker");
        let tally = bench.taken();
        assert_eq!(counted(&tally), "nothing");
        // Three significant digits.
        assert!(least(&tally, Time::Hold) >= 149_000, "{}", least(&tally, Time::Hold));

        let bench = Bench::reading(&node, arm(LockKind::Single), ms(0)).await;
        bench.live_settings.set_hold(ms(150));
        let tally = bench.request().await;
        assert_eq!(counted(&tally), "1 calls");
        assert!(least(&tally, Time::Hold) >= 149_000, "{}", least(&tally, Time::Hold));
    });
}

#[test]
fn arms_do_not_meet_in_the_cache() {
    test(async |node| {
        let ledger = sells(StockIn::Redis, ms(0)).about().ledger().expect("it has orders");
        for arm in 0..3 {
            let cache = connect_cache(node.addr(), arm).await.expect("the cache node");
            prepare_cache(&ledger, &cache).await.expect("the stock keys");
        }
        let keyspace: String = node.query(cmd("INFO").arg("keyspace"));
        for arm in 0..3 {
            assert!(keyspace.contains(&format!("db{arm}:keys=1,")), "{keyspace}");
        }
        assert!(
            connect_cache(node.addr(), 999).await.is_err(),
            "there is no such database"
        );
    });
}

/// 10,000 workers keep a request each.
fn sendable(_: impl Send) {}

#[test]
fn a_request_is_small() {
    test(async |node| {
        for spec in [reads(None), reads(Some(3)), sells(StockIn::Redis, ms(0))] {
            let bench = Bench::new(&node, arm(LockKind::Redlock), spec, ms(0)).await;
            let mut rng = SmallRng::seed_from_u64(1);
            let work = bench.work();
            let request = work.request(bench.recorder.of(Part::Measured), &mut rng, 0, 0);
            let size = size_of_val(&request);
            assert!(size <= 2048, "{size} bytes");
            sendable(request);
        }
    });
}

/// A run that must end does not wait for a lock that it no longer needs.
#[test]
fn waiting_acquires_are_given_up_unfinished_when_the_run_must_end() {
    test(async |node| {
        let bench = Bench::selling(&node, waiting(LockKind::Single), ms(0)).await;
        bench.take_lock("arm:product:0");
        let request = bench.start(0);
        tokio::time::sleep(ms(20)).await;
        assert!(!request.is_finished(), "it waits for as long as it may");
        bench.hurry.waiting.cancel();
        assert_eq!(request.await.expect("a worker"), Done::Cancelled);
        assert_eq!(counted(&bench.taken()), "nothing", "it is no answer of any kind");
    });
}

/// Nor does it wait for simulated work: nothing of it is written, and its lock is free again.
#[test]
fn simulated_work_is_given_up_unfinished_when_the_run_must_end() {
    test(async |node| {
        let hour = Duration::from_hours(1);
        let bench = Bench::selling(&node, waiting(LockKind::Single), hour).await;
        let request = bench.start(0);
        tokio::time::sleep(ms(20)).await;
        bench.hurry.waiting.cancel();
        tokio::time::sleep(ms(20)).await;
        assert!(!request.is_finished(), "only those who wait for a lock are given up");
        bench.hurry.all.cancel();
        assert_eq!(request.await.expect("a worker"), Done::Cancelled);
        let tally = bench.taken();
        assert_eq!((counted(&tally).as_str(), held(&tally)), ("1 cut off", [0, 0]));
        assert_eq!(bench.books().await, (0, 10));
        let held: u64 = bench.query("EXISTS", &["arm:product:0"]);
        assert_eq!(held, 0, "its lock is released");
    });
}

/// A node answers late: its vote is not known at the release, but counts in the end.
#[test]
fn votes_that_come_after_the_release_count_in_the_end() {
    test(async |node| {
        let spec = sells(StockIn::Database, ms(0));
        let lock_node = RedisServer::start();
        let bench = Bench::new(&node, arm(LockKind::None), spec.clone(), ms(0)).await;
        // Three nodes, one of them asleep until its vote is no longer needed.
        let slow = RedisServer::start();
        let nodes = Nodes::connect(&[node.addr(), lock_node.addr(), slow.addr()], NodeOptions::default());
        nodes.ready(ms(5000)).await;
        let lock = Lock::redlock(&nodes, 1);
        let arm = ArmSpec {
            node_timeout: ms(2000),
            ..waiting(LockKind::Redlock)
        };
        let work = bench.workload(arm, lock.clone());
        slow.pause();
        let mut rng = SmallRng::seed_from_u64(1);
        let done = work.request(bench.recorder.of(Part::Measured), &mut rng, 0, 0).await;
        assert_eq!(done, Done::Ended(None));
        let at_release = sums(&bench.taken());
        assert_eq!(
            (at_release.votes_at_release[2], at_release.votes_in_the_end),
            (1, [0; 10])
        );
        slow.resume();
        bench.after.close();
        bench.after.wait().await;
        let in_the_end = sums(&bench.taken());
        assert_eq!(in_the_end.votes_in_the_end[3], 1, "{:?}", in_the_end.votes_in_the_end);
        // Exactly what each node was sent.
        for node in 0..3 {
            let sent = lock.gauges().sent(node);
            assert_eq!((sent.sets, sent.extends, sent.deletes), (1, 0, 1), "node {node}");
        }
    });
}

/// With stock and ledger in Redis a sale is one transaction too: after a kill at any moment, both agree.
#[test]
fn a_kill_tears_no_sale_in_redis() {
    test(async |node| {
        let spec = WorkloadSpec::Inventory(InventorySpec {
            products: 1,
            stock: 1_000_000,
            popularity: Popularity::Uniform,
            hold: constant(ms(0)),
            stock_in: StockIn::Redis,
        });
        let mut sold = 0;
        for (kill, update) in (0..30).zip([Update::Atomic, Update::ReadWrite].into_iter().cycle()) {
            let arm = updating(update, arm(LockKind::None));
            let bench = Bench::new(&node, arm, spec.clone(), ms(0)).await;
            let (work, recorder) = (bench.work(), Arc::clone(&bench.recorder));
            let worker = tokio::spawn(async move {
                let mut rng = SmallRng::seed_from_u64(1);
                loop {
                    work.request(recorder.of(Part::Measured), &mut rng, 0, 0).await;
                }
            });
            tokio::time::sleep(Duration::from_micros(300 + 137 * kill)).await;
            worker.abort();
            let _ = worker.await;
            let (orders, left) = bench.books().await;
            assert_eq!(orders + left, 1_000_000, "kill {kill}");
            sold += orders;
            node.query::<()>(&cmd("FLUSHALL"));
        }
        assert!(sold > 0, "nothing was sold, so nothing was shown");
    });
}
