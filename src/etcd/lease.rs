//! Leases, which are kept alive while they are in use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::gateway::{CallError, Gateway, left, number};

/// The code of gRPC for a lease with a number that there is already: failed precondition.
const EXISTS: u64 = 9;
/// A lease is kept alive so often in its TTL.
const PER_TTL: u32 = 3;
/// The pause before it is tried again to keep a lease alive.
const PAUSE: Duration = Duration::from_millis(50);

/// Until when a lease surely lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// The TTL after the last request that has kept it alive was sent.
    pub until: Instant,
    /// Whether etcd has said that there is no such lease any more.
    pub is_gone: bool,
}

impl Validity {
    /// Whether keys under it surely are still there.
    pub fn lasts(&self) -> bool {
        !self.is_gone && self.until > Instant::now()
    }
}

/// A lease. It is kept alive until it is dropped; then it is revoked as soon as etcd can be reached, and otherwise ends by itself.
#[derive(Debug)]
pub struct Lease {
    id: i64,
    ttl: Duration,
    validity: watch::Receiver<Validity>,
    keeping: JoinHandle<()>,
    gateway: Arc<Gateway>,
    limit: Duration,
}

impl Lease {
    /// A new lease that lasts for so many whole seconds at a time. Each member may take so long to grant it.
    ///
    /// # Errors
    /// None has granted it.
    pub async fn grant(gateway: &Arc<Gateway>, ttl: Duration, limit: Duration) -> Result<Self, CallError> {
        let id = rand::random_range(1..i64::MAX);
        let asked = Instant::now();
        let body = json!({ "ID": id.to_string(), "TTL": ttl.as_secs().to_string() });
        match gateway.call("lease/grant", &body, limit).await {
            // A member has granted it that was too late to say so.
            Ok(_) | Err(CallError::Refused { code: EXISTS, .. }) => {}
            Err(error) => return Err(error),
        }
        let first = Validity {
            until: asked + ttl,
            is_gone: false,
        };
        let (tell, validity) = watch::channel(first);
        let keeping = tokio::spawn(keep(Arc::clone(gateway), id, ttl, limit, tell));
        Ok(Self {
            id,
            ttl,
            validity,
            keeping,
            gateway: Arc::clone(gateway),
            limit,
        })
    }

    /// Its number.
    pub const fn id(&self) -> i64 {
        self.id
    }

    /// How long it lasts at a time.
    pub const fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Until when it lasts, as far as is known now.
    pub fn validity(&self) -> Validity {
        *self.validity.borrow()
    }

    /// The same, now and later.
    pub fn follow(&self) -> watch::Receiver<Validity> {
        self.validity.clone()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.keeping.abort();
        let revoke = revoke(Arc::clone(&self.gateway), self.id, self.ttl, self.limit);
        // Without a runtime nothing can be sent.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(revoke);
        }
    }
}

/// Revokes a lease, so that its keys keep nobody out for the rest of its TTL. A new leader lets every lease last for a whole TTL once more,
/// so it is tried for as long.
async fn revoke(gateway: Arc<Gateway>, id: i64, ttl: Duration, limit: Duration) {
    let (body, end) = (json!({ "ID": id.to_string() }), Instant::now() + 2 * ttl);
    while let Err(CallError::Unreached(_) | CallError::Unknown(_)) = gateway.call("lease/revoke", &body, limit).await {
        if left(end).is_zero() {
            return;
        }
        sleep(PAUSE).await;
    }
}

/// Keeps a lease alive as long as it lasts.
async fn keep(gateway: Arc<Gateway>, id: i64, ttl: Duration, limit: Duration, tell: watch::Sender<Validity>) {
    let body = json!({ "ID": id.to_string() });
    let mut pause = ttl / PER_TTL;
    loop {
        sleep(pause).await;
        let until = tell.borrow().until;
        let asked = Instant::now();
        // What comes after its end would not make it last: whoever stood still for so long has lost it.
        if left(until).is_zero() {
            tell.send_modify(|validity| validity.is_gone = true);
            return;
        }
        pause = match gateway.call("lease/keepalive", &body, limit.min(left(until))).await {
            Ok(answer) if number(&answer["result"]["TTL"]) > 0 => {
                tell.send_modify(|validity| validity.until = asked + ttl);
                ttl / PER_TTL
            }
            Ok(_) | Err(CallError::Refused { .. }) => {
                tell.send_modify(|validity| validity.is_gone = true);
                return;
            }
            Err(_) => PAUSE,
        };
    }
}
