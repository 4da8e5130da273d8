//! `lock = "etcd"`: the lab's etcd behind the interface by which workers get locks.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::under_test::{Granted, Lock, OtherHold, OtherLock, OtherLocks, Reply, Site};
use lockstorm_data::scenario::ArmSpec;
use lockstorm_etcd::{Held, Locks, Options, Refused, Validity};
use lockstorm_lab::Lab;
use lockstorm_lock::{AcquireOptions, Refusal, Wait};

/// How long a worker pauses whom nobody has answered.
const PAUSE: Duration = Duration::from_millis(20);

/// The locks of an arm on the lab's etcd.
#[derive(Debug)]
pub(crate) struct EtcdLocks {
    lab: Arc<Lab>,
    /// How long each member may take to answer.
    member_timeout: Duration,
}

impl EtcdLocks {
    pub fn new(lab: Arc<Lab>, arm: &ArmSpec) -> Self {
        Self {
            lab,
            member_timeout: arm.node_timeout,
        }
    }
}

impl OtherLocks for EtcdLocks {
    fn connect(&self, site: Site) -> Reply<'_, Result<Lock, String>> {
        Box::pin(async move {
            // App servers spread over the members.
            let gateway = self.lab.etcd(site.server.index()).await.ok_or("the lab has no etcd")?;
            let locks = Locks::new(gateway.map_err(|error| error.to_string())?);
            Ok(Lock::Other(Arc::new(EtcdLock {
                locks: Arc::new(locks),
                member_timeout: self.member_timeout,
                held: Mutex::default(),
                numbers: AtomicU64::new(1),
            })))
        })
    }
}

/// The lock as one app server uses it.
#[derive(Debug)]
struct EtcdLock {
    locks: Arc<Locks>,
    member_timeout: Duration,
    /// The locks that are held, by their numbers.
    held: Mutex<HashMap<u64, Held>>,
    numbers: AtomicU64,
}

impl EtcdLock {
    fn held(&self) -> MutexGuard<'_, HashMap<u64, Held>> {
        // Each change is one call.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OtherLock for EtcdLock {
    fn acquire<'a>(&'a self, key: &'a str, options: &'a AcquireOptions) -> Reply<'a, Result<Arc<OtherHold>, Refusal>> {
        Box::pin(async move {
            let (number, asked) = (self.numbers.fetch_add(1, Ordering::Relaxed), Instant::now());
            let how = Options {
                // In whole seconds: a knob may have set another one.
                ttl: Duration::from_secs(options.ttl.as_secs() + u64::from(options.ttl.subsec_nanos() > 0)),
                timeout: options.timeout,
                member_timeout: self.member_timeout,
                waits: options.wait != Wait::FailFast,
            };
            let held = match self.locks.acquire(key, &how).await {
                Ok(held) => held,
                Err(Refused::Contended) => return Err(Refusal::Contended),
                Err(refused) => {
                    sleep(PAUSE).await;
                    let causes = Vec::new();
                    return Err(match refused {
                        Refused::Unknown => Refusal::Unknown { causes },
                        Refused::Outage | Refused::Contended => Refusal::NoQuorum { causes },
                    });
                }
            };
            let granted = Granted {
                key: key.to_owned(),
                token: format!("revision {}", held.revision),
                number,
                asked,
                voters: Vec::new(),
                nodes: 0,
                fence: Some(held.revision.unsigned_abs()),
                ttl: None,
                is_renewed: false,
            };
            let validity = held.lease.follow();
            let hold = Arc::new(OtherHold::new(granted, Some(held.lease.validity().until)));
            tokio::spawn(follow(validity, Arc::clone(&hold)));
            self.held().insert(number, held);
            Ok(hold)
        })
    }

    fn release<'a>(&'a self, hold: &'a OtherHold) -> Reply<'a, bool> {
        Box::pin(async move {
            let Some(held) = self.held().remove(&hold.granted.number) else {
                return false;
            };
            let is_released = self.locks.release(held, self.member_timeout).await;
            if is_released {
                hold.released();
            }
            is_released
        })
    }
}

/// Tells the holder of a lock until when its lease lasts, and when there is none any more.
async fn follow(mut validity: tokio::sync::watch::Receiver<Validity>, hold: Arc<OtherHold>) {
    while validity.changed().await.is_ok() && !hold.is_over() {
        let now = *validity.borrow();
        match now.is_gone {
            true => return hold.lose(Instant::now()),
            false => hold.rely_until(now.until),
        }
    }
}
