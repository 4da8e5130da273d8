//! Locks on a master that moves: settings, waiting until it is reached, and what a caller may be told meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use lockstorm_lock::{AcquireOptions, Guard, Lock, NodeOptions, NotExtended};
use lockstorm_lock::{Cause, CauseKind};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

use super::TEST_TIMEOUT;
use super::sentinel::Process;
use super::trio::{IMPATIENT, NODE_TIMEOUT, OPTIONS};

/// Patient with nodes that work, and quick to try again.
pub const PATIENT: NodeOptions = NodeOptions {
    connect_timeout: Duration::from_secs(1),
    reconnect_backoff: Duration::from_millis(10),
    node_timeout: NODE_TIMEOUT,
    give_up: TEST_TIMEOUT,
    wait_replicas: None,
    longest_key: 8 << 10,
};

pub const RENEWED: AcquireOptions = AcquireOptions {
    renew: Some(Duration::from_millis(50)),
    ..OPTIONS
};

pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Tries until the lock is acquired and its key is on this server; returns the kinds of all causes of refusals meanwhile.
pub async fn reach(lock: &Lock, key: &str, server: &Process) -> BTreeSet<CauseKind> {
    let mut causes = BTreeSet::new();
    let reached = async {
        loop {
            match lock.acquire(key, &IMPATIENT).await {
                Ok(guard) => {
                    // It may have been taken from a master that is about to be told that it is none.
                    let found = server.keys().contains(&key.to_owned());
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
    timeout(TEST_TIMEOUT, reached).await.expect("the master is reached");
    causes
}

/// Tries until the lock is extended: others may learn a little later than the new master that it is one.
pub async fn extended(guard: &Guard) {
    let extended = async {
        while let Err(refused) = guard.extend().await {
            assert_ne!(refused, NotExtended::Lost);
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(TEST_TIMEOUT, extended).await.expect("the lock is extended");
    assert!(!guard.is_lost());
}

/// What a caller may be told while the master moves, and `also` these.
pub fn assert_typed(causes: &BTreeSet<CauseKind>, also: &[CauseKind]) {
    let expected = [
        CauseKind::Refused,
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
