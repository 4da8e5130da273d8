//! An adversary on locks of a real etcd of one member: whatever it does, nobody believes in a lock for longer than its lease lasts, and
//! nothing is left after that.
//!
//! They need an etcd, 3.4 or newer; `make test-etcd` runs them.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lockstorm_etcd::{Gateway, Locks, Options, Refused};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

const TTL: Duration = Duration::from_secs(2);
const LIMIT: Duration = Duration::from_secs(2);
const WAITING: Options = Options {
    ttl: TTL,
    timeout: Duration::from_secs(20),
    member_timeout: LIMIT,
    waits: true,
};
const AT_ONCE: Options = Options {
    waits: false,
    ..WAITING
};

/// A member that is alone.
struct Etcd {
    child: Child,
    place: SocketAddr,
    _dir: tempfile::TempDir,
}

impl Etcd {
    async fn start(more: &[&str]) -> Self {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (place, peer, dir) = (free(), free(), tempfile::tempdir().unwrap());
        let (client, peer) = (format!("http://{place}"), format!("http://{peer}"));
        let child = Command::new("etcd")
            .args(["--name", "one", "--log-level", "error", "--data-dir"])
            .arg(dir.path().join("data"))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("one={peer}")])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(dir.path().join("log")).unwrap())
            .spawn()
            .expect("etcd is on PATH");
        let etcd = Self {
            child,
            place,
            _dir: dir,
        };
        let end = Instant::now() + Duration::from_mins(1);
        while etcd.locks().check(LIMIT).await.is_err() {
            assert!(Instant::now() < end, "etcd does not answer");
            sleep(Duration::from_millis(50)).await;
        }
        etcd
    }

    fn gateway(&self) -> Gateway {
        Gateway::new(vec![self.place], 0)
    }

    /// The locks of one more client.
    fn locks(&self) -> Locks {
        Locks::new(self.gateway())
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// How many keys there are, and leases.
    async fn left(&self) -> [usize; 2] {
        let gateway = self.gateway();
        let all = json!({ "key": "AA==", "range_end": "AA==", "count_only": true });
        let keys = gateway.call("kv/range", &all, LIMIT).await.unwrap();
        let leases = gateway.call("lease/leases", &json!({}), LIMIT).await.unwrap();
        let count = |value: &Value| value.as_str().map_or(0, |text| text.parse().unwrap());
        [count(&keys["count"]), leases["leases"].as_array().map_or(0, Vec::len)]
    }

    /// Waits until nothing is left, which must be so after the TTL of the last lease.
    async fn is_empty(&self) {
        // etcd looks for leases that are over twice a second.
        let end = Instant::now() + TTL + Duration::from_secs(10);
        while self.left().await != [0, 0] {
            assert!(Instant::now() < end, "{:?} keys and leases are left", self.left().await);
            sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
#[ignore = "needs etcd: make test-etcd"]
async fn one_at_a_time_is_inside_in_the_order_of_their_revisions() {
    let etcd = Etcd::start(&[]).await;
    let locks = [Arc::new(etcd.locks()), Arc::new(etcd.locks())];
    let (inside, last) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut working = tokio::task::JoinSet::new();
    for worker in 0..8 {
        let locks = Arc::clone(&locks[worker % 2]);
        let (inside, last) = (Arc::clone(&inside), Arc::clone(&last));
        working.spawn(async move {
            for _ in 0..10 {
                let held = locks.acquire("one", &WAITING).await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                let revision = usize::try_from(held.revision).unwrap();
                assert!(last.swap(revision, Ordering::SeqCst) < revision);
                sleep(Duration::from_millis(2)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
                assert!(locks.release(held, LIMIT).await);
            }
        });
    }
    working.join_all().await;
    // Another name is another lock, and "one" is not the beginning of "one2".
    let held = locks[0].acquire("one", &AT_ONCE).await.unwrap();
    let other = locks[0].acquire("one2", &AT_ONCE).await.unwrap();
    assert_eq!(locks[1].acquire("one", &AT_ONCE).await.unwrap_err(), Refused::Contended);
    assert!(locks[0].release(held, LIMIT).await && locks[0].release(other, LIMIT).await);
    let patient = locks[1].acquire("one", &WAITING).await.unwrap();
    let short = Options {
        timeout: Duration::from_millis(300),
        ..WAITING
    };
    assert_eq!(locks[0].acquire("one", &short).await.unwrap_err(), Refused::Contended);
    assert_eq!(etcd.left().await[0], 1, "who gave up has no key any more");
    drop(patient);
    drop(locks);
    etcd.is_empty().await;
}

#[tokio::test]
#[ignore = "needs etcd: make test-etcd"]
async fn nothing_is_left_of_acquires_that_are_cancelled_anywhere() {
    let etcd = Etcd::start(&[]).await;
    let locks = etcd.locks();
    let mut granted = 0;
    for micros in (0..6_000).step_by(100) {
        let acquire = locks.acquire("one", &WAITING);
        if let Ok(Ok(held)) = timeout(Duration::from_micros(micros), acquire).await {
            granted += 1;
            assert!(locks.release(held, LIMIT).await);
        }
    }
    println!("{granted} were granted in time");
    // Those that were cancelled keep nobody out for long.
    let held = locks.acquire("one", &WAITING).await.unwrap();
    drop(held);
    drop(locks);
    etcd.is_empty().await;
}

#[tokio::test]
#[ignore = "needs etcd: make test-etcd"]
async fn nobody_believes_in_a_lock_whose_lease_could_not_be_kept_alive() {
    let etcd = Etcd::start(&[]).await;
    let locks = etcd.locks();
    let held = locks.acquire("one", &WAITING).await.unwrap();
    sleep(TTL + TTL / 2).await;
    assert!(held.lease.validity().lasts(), "it is kept alive");
    etcd.signal("-STOP");
    let stopped = Instant::now();
    let until = held.lease.validity().until;
    assert!(until <= stopped + TTL);
    // Nothing that etcd grants later makes the belief longer.
    while held.lease.validity().lasts() {
        assert!(Instant::now() <= until + Duration::from_millis(500));
        sleep(Duration::from_millis(10)).await;
    }
    let refused = locks.acquire("two", &AT_ONCE).await.unwrap_err();
    assert!(matches!(refused, Refused::Outage | Refused::Unknown), "{refused:?}");
    etcd.signal("-CONT");
    sleep(Duration::from_millis(500)).await;
    assert!(!held.lease.validity().lasts(), "what is over stays over");
    drop((held, locks));
    etcd.is_empty().await;
}

#[tokio::test]
#[ignore = "needs etcd: make test-etcd"]
async fn a_lease_that_somebody_revokes_is_told_and_its_lock_is_not_released() {
    let etcd = Etcd::start(&[]).await;
    let locks = etcd.locks();
    let held = locks.acquire("one", &WAITING).await.unwrap();
    let mut validity = held.lease.follow();
    let body = json!({ "ID": held.lease.id().to_string() });
    etcd.gateway().call("lease/revoke", &body, LIMIT).await.unwrap();
    let told = timeout(TTL, validity.wait_for(|validity| validity.is_gone)).await;
    assert!(told.expect("within a TTL").is_ok());
    let next = locks.acquire("one", &AT_ONCE).await.unwrap();
    assert!(!locks.release(held, LIMIT).await, "it was another's by then");
    assert!(locks.release(next, LIMIT).await, "and is so still");
}

#[tokio::test]
#[ignore = "needs etcd: make test-etcd"]
async fn a_full_etcd_grants_nothing_and_keeps_nothing() {
    let etcd = Etcd::start(&["--quota-backend-bytes", "1048576"]).await;
    let gateway = etcd.gateway();
    let large = "A".repeat(64 * 1024);
    while gateway
        .call("kv/put", &json!({ "key": "AA==", "value": large }), LIMIT)
        .await
        .is_ok()
    {}
    let locks = etcd.locks();
    assert_eq!(locks.acquire("one", &AT_ONCE).await.unwrap_err(), Refused::Outage);
    drop(locks);
    let end = Instant::now() + TTL + Duration::from_secs(10);
    while etcd.left().await != [1, 0] {
        assert!(Instant::now() < end, "{:?}", etcd.left().await);
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
#[ignore = "needs etcd: make test-etcd"]
async fn whose_key_is_deleted_while_it_waits_is_not_granted_the_lock() {
    let etcd = Etcd::start(&[]).await;
    let locks = Arc::new(etcd.locks());
    let held = locks.acquire("one", &WAITING).await.unwrap();
    let waiter = {
        let locks = Arc::clone(&locks);
        tokio::spawn(async move { locks.acquire("one", &WAITING).await.map(|held| held.revision) })
    };
    while etcd.left().await[0] < 2 {
        sleep(Duration::from_millis(10)).await;
    }
    // Its lease lasts, as far as it knows, but etcd has forgotten its key.
    let gateway = etcd.gateway();
    let younger = json!({
        "key": "b25lLw==", "range_end": "b25lMA==", "min_create_revision": (held.revision + 1).to_string(),
    });
    let found = gateway.call("kv/range", &younger, LIMIT).await.unwrap();
    let key = found["kvs"][0]["key"].clone();
    gateway
        .call("kv/deleterange", &json!({ "key": key }), LIMIT)
        .await
        .unwrap();
    let next = locks.acquire("one", &AT_ONCE).await;
    assert_eq!(next.unwrap_err(), Refused::Contended);
    assert!(locks.release(held, LIMIT).await);
    assert_eq!(waiter.await.unwrap(), Err(Refused::Outage));
}
