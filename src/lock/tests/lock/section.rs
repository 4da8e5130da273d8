//! Work under one lock or several, and how long they are kept. Real servers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::kit::trio::{KEY, OPTIONS, QUEUE, Trio, lasting};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, in_time, until};
use lockstorm_lock::{
    Cause, Guard, LinkState, Lock, NodeAddress, NodeOptions, Nodes, NotDone, Observer, Redlock, Refusal, Unusable,
    blocking,
};
use redis::cmd;

fn time_left(server: &RedisServer, key: &str) -> i64 {
    server.query(cmd("PTTL").arg(key))
}

#[tokio::test]
async fn an_extension_to_a_ttl_of_ones_own_lasts_and_is_never_shortened() {
    let trio = Trio::start().await;
    let renewed = lasting(10_000).renew_every(Duration::from_millis(20));
    let guard = trio.acquire_all(&renewed).await;
    assert_eq!(guard.key(), KEY.as_bytes());
    let (long, renewals) = (Duration::from_secs(1000), trio.servers[0].calls("evalsha"));
    let validity = guard.extend_to(long).await.unwrap();
    assert!(validity > long / 2 && validity < long, "{validity:?}");
    // Neither renewals nor a shorter extension take anything away.
    until("it is renewed", async || {
        trio.servers[0].calls("evalsha") > renewals + 5
    })
    .await;
    assert!(guard.extend_to(Duration::from_secs(1)).await.unwrap() > long / 2);
    assert!(guard.validity() > long / 2);
    assert_eq!(trio.nodes.flush(TEST_TIMEOUT).await, 3);
    for server in &trio.servers {
        let left = time_left(server, KEY);
        assert!(left > 500_000 && left <= 1_000_000, "{left} ms");
    }
    let bounded = trio
        .lock
        .acquire("bounded", &OPTIONS.lifetime(TEST_TIMEOUT))
        .await
        .unwrap();
    assert!(bounded.extend_to(long).await.unwrap() <= TEST_TIMEOUT);
    drop((guard, bounded));
    trio.no_keys().await;
}

#[tokio::test]
async fn work_is_done_under_the_lock_which_is_released_whatever_becomes_of_it() {
    let trio = Trio::start().await;
    let lock = trio.lock.clone();
    // In a task of its own, so it can be sent.
    let done = tokio::spawn(async move {
        let work = async |guard: &Guard| guard.key().len() + guard.nodes();
        lock.using(KEY, &OPTIONS, work).await
    });
    assert_eq!(done.await.unwrap(), Ok(KEY.len() + 3));
    let holder = trio.acquire_all(&OPTIONS).await;
    let refused = trio.lock.using(KEY, &OPTIONS, async |_| panic!("it is begun")).await;
    assert_eq!(refused, Err::<(), _>(NotDone::Refused(Refusal::Contended)));
    holder.release().await;
    let lock = trio.lock.clone();
    let panics = tokio::spawn(async move { lock.using(KEY, &OPTIONS, async |_| panic!("as it must")).await });
    let ended: Result<Result<(), _>, _> = panics.await;
    assert!(ended.unwrap_err().is_panic());
    trio.no_keys().await;
}

#[tokio::test]
async fn work_is_stopped_when_its_lock_is_lost() {
    let trio = Trio::start().await;
    let renewed = OPTIONS.renew_every(Duration::from_millis(20));
    let (dropped, is_dropped) = tokio::sync::oneshot::channel::<()>();
    let work = async |_: &Guard| {
        let _dropped = dropped;
        for server in &trio.servers {
            let _: () = server.query(&cmd("FLUSHALL"));
        }
        std::future::pending::<()>().await;
    };
    let done = in_time("it is stopped", trio.lock.using(KEY, &renewed, work)).await;
    assert_eq!(done, Err(NotDone::Lost));
    assert!(is_dropped.await.is_err());
    // Work that blocks its thread can't be stopped, but is not taken for done.
    let blocks = async |_: &Guard| std::thread::sleep(Duration::from_millis(60));
    assert_eq!(trio.lock.using(KEY, &lasting(50), blocks).await, Err(NotDone::Lost));
    trio.no_keys().await;
}

#[tokio::test]
async fn several_keys_are_acquired_in_order_all_or_none() {
    let trio = Trio::start().await;
    let guards = trio.lock.acquire_all(&["b", "c", "a", "b"], &OPTIONS).await.unwrap();
    let keys: Vec<&[u8]> = guards.iter().map(Guard::key).collect();
    assert_eq!((keys, guards.is_lost()), (vec![&b"a"[..], b"b", b"c"], false));
    let released = guards.release().await;
    assert!(released.iter().all(|released| released.deleted >= 2), "{released:?}");
    // One that is held by others, and a deadline for all of them.
    let holder = trio.lock.acquire("b", &OPTIONS).await.unwrap();
    let brief = QUEUE.timeout(Duration::from_millis(100));
    let refused = trio.lock.acquire_all(&["c", "b", "a"], &brief).await.unwrap_err();
    assert_eq!((&refused.key[..], &refused.refusal), (&b"b"[..], &Refusal::Contended));
    assert_eq!(refused.to_string(), "b: somebody else holds the lock");
    drop(holder);
    // The first one's validity is over before the last one is there.
    let holder = trio.lock.acquire("b", &lasting(400)).await.unwrap();
    let late = QUEUE.ttl(Duration::from_millis(100));
    let refused = trio.lock.acquire_all(&["a", "b"], &late).await.unwrap_err();
    assert_eq!(refused.key, b"a");
    assert!(matches!(refused.refusal, Refusal::Expired { .. }), "{refused}");
    drop(holder);
    let empty: [&str; 0] = [];
    assert!(trio.lock.acquire_all(&empty, &OPTIONS).await.unwrap().is_empty());
    trio.no_keys().await;
}

#[tokio::test]
async fn two_who_want_the_same_keys_in_another_order_both_get_them() {
    let trio = Trio::start().await;
    let loses = async |keys: [&str; 3]| {
        for _ in 0..50 {
            drop(trio.lock.acquire_all(&keys, &QUEUE).await.unwrap());
        }
    };
    tokio::join!(loses(["a", "b", "c"]), loses(["c", "b", "a"]), loses(["b", "c", "a"]));
    trio.no_keys().await;
}

#[tokio::test]
async fn each_acquire_may_have_options_of_its_own() {
    let trio = Trio::start().await;
    let redlock = Redlock::builder(trio.nodes.clone())
        .timeout(TEST_TIMEOUT)
        .build()
        .unwrap();
    let long = redlock.options().ttl(Duration::from_secs(1000));
    let guard = redlock.with(long).unwrap().acquire(KEY).await.unwrap();
    assert!(guard.validity() > Duration::from_secs(900));
    assert_eq!(redlock.acquire(KEY).await.unwrap_err(), Refusal::Contended);
    assert_eq!(redlock.gauges().holding(), 1);
    let ttl = Duration::from_millis(1);
    assert_eq!(redlock.with(long.ttl(ttl)).unwrap_err(), Unusable::TtlTooShort { ttl });
    guard.release().await;
    trio.no_keys().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_node_is_reached_by_a_socket_of_this_machine() {
    let _turn = beside();
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("redis.sock");
    let server = RedisServer::start_with(&["--unixsocket", socket.to_str().unwrap()]);
    server.add_user("~* &* +@all");
    let url = format!("unix://{}?db=3&user=locks&pass=secret", socket.display());
    let options = NodeOptions::new().node_timeout(TEST_TIMEOUT);
    let nodes = Nodes::open(&[&url], options).unwrap();
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
    let lock = Lock::redlock(&nodes, 1);
    let guard = lock.acquire(KEY, &OPTIONS).await.unwrap();
    guard.extend().await.unwrap();
    let spaces: String = server.query(cmd("INFO").arg("keyspace"));
    assert!(spaces.contains("db3:keys=1"), "{spaces}");
    assert_eq!(guard.release().await.deleted, 1);
    // One that waits has a connection for messages, by the socket too.
    let holder = lock.acquire(KEY, &QUEUE).await.unwrap();
    let other = Lock::redlock(&nodes, 2);
    let release = async {
        until("the other one waits", async || other.gauges().waiting() > 0).await;
        holder.release().await
    };
    let (_, next) = tokio::join!(release, other.acquire(KEY, &QUEUE));
    assert!(next.unwrap().waited());
    assert!(NodeAddress::parse(&url).unwrap().to_string().ends_with("redis.sock"));
}

/// What an observer was told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Fact>>>);

/// What happened, to which key, and how long it took.
type Fact = (&'static str, String, Duration);

impl Told {
    fn note(&self, what: &'static str, key: &[u8], time: Duration) {
        self.0
            .lock()
            .unwrap()
            .push((what, String::from_utf8_lossy(key).into_owned(), time));
    }
}

impl Observer for Told {
    fn acquired(&self, key: &[u8], waited: Duration) {
        self.note("acquired", key, waited);
    }

    fn refused(&self, key: &[u8], refusal: &Refusal, waited: Duration) {
        assert_eq!(*refusal, Refusal::Contended);
        self.note("refused", key, waited);
    }

    fn released(&self, key: &[u8], held: Duration) {
        self.note("released", key, held);
    }

    fn lost(&self, key: &[u8], held: Duration) {
        self.note("lost", key, held);
    }
}

#[tokio::test]
async fn an_observer_is_told_how_long_callers_wait_and_hold_and_what_they_get() {
    let trio = Trio::start().await;
    for lock in [trio.lock.clone(), Lock::local()] {
        let (told, pause) = (Told::default(), Duration::from_millis(30));
        assert!(lock.gauges().observe(told.clone()));
        assert!(!lock.gauges().observe(Told::default()));
        let held = lock.acquire(KEY, &OPTIONS).await.unwrap();
        lock.try_acquire(KEY, &OPTIONS).await.unwrap_err();
        tokio::time::sleep(pause).await;
        let (waited, ()) = tokio::join!(lock.acquire(KEY, &QUEUE), async {
            tokio::time::sleep(pause).await;
            drop(held);
        });
        drop(waited.unwrap());
        let told = std::mem::take(&mut *told.0.lock().unwrap());
        let what: Vec<_> = told.iter().map(|(what, key, _)| (*what, &key[..])).collect();
        let expected = ["acquired", "refused", "released", "acquired", "released"].map(|what| (what, KEY));
        assert_eq!(what, expected);
        assert!(told[2].2 >= pause * 2 && told[3].2 >= pause, "{told:?}");
    }
    let told = Told::default();
    let lock = trio.lock.counted_by(Arc::default());
    assert!(lock.gauges().observe(told.clone()));
    let lost = lock.acquire(KEY, &lasting(50)).await.unwrap();
    lost.lost().await;
    drop(lost);
    assert_eq!(told.0.lock().unwrap()[1].0, "lost");
    trio.no_keys().await;
}

#[tokio::test]
async fn each_node_says_how_it_is_and_what_was_wrong_last() {
    let mut trio = Trio::start().await;
    let link = |node: usize| trio.nodes.states()[node].link;
    assert_eq!([0, 1, 2].map(link), [LinkState::Connected; 3]);
    let states = trio.nodes.states();
    assert_eq!(states[0].address.as_deref(), Some(&*trio.servers[0].addr().to_string()));
    trio.kill(0).await;
    until("nobody listens there", async || {
        let state = &trio.nodes.states()[0];
        state.link == LinkState::Down && state.last_error == Some(Cause::Refused)
    })
    .await;
    // The lock still works, and what was wrong is remembered when the node is back, as something else.
    trio.lock.acquire(KEY, &OPTIONS).await.unwrap().release().await;
    trio.servers[0].restart();
    let mut admin = trio.servers[0].connection().unwrap();
    for words in [
        &["CONFIG", "SET", "requirepass", "s3cret"][..],
        &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"],
    ] {
        let _: redis::Value = cmd(words[0]).arg(&words[1..]).query(&mut admin).unwrap();
    }
    until("the password is wrong", async || {
        matches!(trio.nodes.states()[0].last_error, Some(Cause::NoPermission(_)))
    })
    .await;
    assert!(trio.nodes.states()[0].last_error_age.is_some());
    assert!(!matches!(
        trio.nodes.states()[1].last_error,
        Some(Cause::NoPermission(_))
    ));
}

#[test]
fn a_lock_of_a_program_without_a_runtime_is_renewed_while_its_owner_blocks() {
    let _turn = beside();
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
    let nodes = NodeOptions::new().node_timeout(TEST_TIMEOUT);
    let options = lasting(1000).renew_every(Duration::from_millis(100));
    let redlock = blocking::Redlock::open(&urls, nodes, options).unwrap();
    let guard = redlock.acquire(KEY).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!guard.is_lost());
    assert_eq!(
        (guard.key(), redlock.try_acquire(KEY).unwrap_err()),
        (KEY.as_bytes(), Refusal::Contended)
    );
    assert!(guard.extend_to(Duration::from_secs(1000)).unwrap() > Duration::from_secs(900));
    guard.extend().unwrap();
    assert!(guard.release().deleted >= 2);
    let patient = redlock.with(QUEUE).unwrap();
    let dropped = patient.acquire(KEY).unwrap();
    drop((redlock, patient));
    // The last one out waits until the nodes have run it.
    drop(dropped);
    assert!(servers.iter().all(|server| server.keys() == 0));
    let bad = blocking::Redlock::open(&["redis://host:x"], nodes, options).unwrap_err();
    assert!(matches!(bad, blocking::NotOpened::Address(_)), "{bad}");
}

/// Where events are written to.
#[cfg(feature = "tracing")]
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

#[cfg(feature = "tracing")]
impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "tracing")]
#[tokio::test]
async fn events_tell_of_nodes_and_lost_locks_without_keys_and_passwords() {
    let _turn = beside();
    let mut server = RedisServer::start();
    server.add_user("~* &* +@all");
    let log = Log::default();
    let to = log.clone();
    let events = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || to.clone());
    // The tasks of the nodes are on this thread too.
    let _here = tracing::subscriber::set_default(events.finish());
    let url = format!("redis://locks:secret@{}", server.addr());
    let nodes = Nodes::open(&[&url], NodeOptions::new().node_timeout(TEST_TIMEOUT)).unwrap();
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
    let guard = Lock::redlock(&nodes, 1).acquire(KEY, &lasting(50)).await.unwrap();
    guard.lost().await;
    tokio::time::sleep(Duration::from_millis(3)).await;
    drop(guard);
    server.kill();
    let told = || String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    until("everything is told", async || {
        [
            "connected",
            "a lock was lost",
            "there is no connection cause=disconnected",
        ]
        .iter()
        .all(|event| told().contains(event))
    })
    .await;
    // It stays down for many attempts to connect, and that is told once.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let told = told();
    assert!(told.matches("there is no connection").count() <= 2, "{told}");
    assert!(told.contains(&format!("address=\"{}\"", server.addr())), "{told}");
    assert!(!told.contains(KEY) && !told.contains("secret"), "{told}");
}
