//! Locks on a master that moves: settings, waiting until it is reached, and what a caller may be told meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use lockstorm_lock::{Cause, CauseKind, Guard, Lock, NodeOptions, Nodes, NotExtended};
use tokio::task::yield_now;
use tokio::time::sleep;

use super::server::RedisServer;
use super::trio::{IMPATIENT, NODE_TIMEOUT, QUEUE};
use super::waiting::{TEST_TIMEOUT, in_time, until};

/// Patient with nodes that work, and quick to try again.
pub const PATIENT: NodeOptions = NodeOptions::new()
    .connect_timeout(Duration::from_secs(1))
    .reconnect_backoff(Duration::from_millis(10))
    .node_timeout(NODE_TIMEOUT)
    .give_up(TEST_TIMEOUT)
    .longest_key(8 << 10);

/// Tries until the lock is acquired and its key is on this server; returns the kinds of all causes of refusals meanwhile.
pub async fn reach(lock: &Lock, key: &str, server: &RedisServer) -> BTreeSet<CauseKind> {
    let mut causes = BTreeSet::new();
    let reached = async {
        loop {
            match lock.acquire(key, &IMPATIENT).await {
                Ok(guard) => {
                    // It may have been taken from a master that is about to be told that it is none.
                    let found = server.names().contains(&key.to_owned());
                    guard.release().await;
                    if found {
                        return;
                    }
                }
                Err(refusal) => causes.extend(refusal.causes().iter().flatten().map(Cause::kind)),
            }
            sleep(Duration::from_millis(2)).await;
        }
    };
    in_time("the master is reached", reached).await;
    causes
}

/// Tries until the lock is extended: others may learn a little later than the new master that it is one.
pub async fn extended(guard: &Guard) {
    until("the lock is extended", async || match guard.extend().await {
        Ok(_) => true,
        Err(refused) => {
            assert_ne!(refused, NotExtended::Lost);
            false
        }
    })
    .await;
    assert!(!guard.is_lost());
}

/// What a caller may be told while the master moves, and `also` these.
pub fn assert_typed(causes: &BTreeSet<CauseKind>, also: &[CauseKind]) {
    let expected = [
        CauseKind::Refused,
        CauseKind::Unreachable,
        CauseKind::Timeout,
        CauseKind::Disconnected,
        CauseKind::Suspect,
        CauseKind::ReadOnly,
        CauseKind::NoMaster,
        CauseKind::NotReady,
    ];
    let is_expected = |cause: &&CauseKind| expected.contains(cause) || also.contains(cause);
    assert!(causes.iter().all(|cause| is_expected(&cause)), "{causes:?}");
}

/// Eight tasks of two app servers, whose nodes these are, take turns at so many locks: no two hold the same one.
pub async fn nobody_overlaps<const KEYS: usize>(app_servers: [Nodes; 2]) {
    const CYCLES: usize = 2000;
    let busy: Arc<[AtomicBool; KEYS]> = Arc::new([const { AtomicBool::new(false) }; KEYS]);
    let done = Arc::new(AtomicUsize::new(0));
    let work = |task: usize| {
        let lock = Lock::single(&app_servers[task % 2], 0, 1);
        let (busy, done) = (Arc::clone(&busy), Arc::clone(&done));
        async move {
            while done.fetch_add(1, SeqCst) < CYCLES {
                let key = (done.load(SeqCst) + task) % KEYS;
                let guard = lock.acquire(&format!("key:{key}"), &QUEUE).await.unwrap();
                assert!(!busy[key].swap(true, SeqCst), "{key} is held twice");
                yield_now().await;
                assert!(busy[key].swap(false, SeqCst) && !guard.is_lost());
                if done.load(SeqCst) % 2 == 0 {
                    guard.release().await;
                }
            }
        }
    };
    let tasks: Vec<_> = (0..8).map(|task| tokio::spawn(work(task))).collect();
    for task in tasks {
        task.await.expect("nobody overlaps");
    }
    for nodes in &app_servers {
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 1);
    }
    assert!(done.load(SeqCst) >= CYCLES);
}
