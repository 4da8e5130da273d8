//! Locks: keys under leases, in the order of their create revisions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::gateway::{CallError, Gateway, decoded, encoded, left, number};
use crate::lease::Lease;

/// Whoever waits looks again so often, whatever it is told.
const LOOKS: Duration = Duration::from_secs(1);
/// The pause after a call that nobody has answered.
const PAUSE: Duration = Duration::from_millis(20);

/// How a lock is acquired.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How long its lease lasts at a time, in whole seconds.
    pub ttl: Duration,
    /// How long the acquire may take.
    pub timeout: Duration,
    /// How long each member may take to answer.
    pub member_timeout: Duration,
    /// Whether it waits for its turn.
    pub waits: bool,
}

/// Why a lock was not acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Somebody else has it, or came first.
    Contended,
    /// etcd could not be asked.
    Outage,
    /// Its key may be there until its lease ends.
    Unknown,
}

/// The locks of one etcd, as one client uses them.
#[derive(Debug)]
pub struct Locks {
    gateway: Arc<Gateway>,
    /// Leases without a key, which are kept alive. There are never more of all kinds than callers at once.
    free: Mutex<Vec<Lease>>,
}

/// A lock that was acquired.
#[derive(Debug)]
pub struct Held {
    /// The lease that it ends with.
    pub lease: Lease,
    /// The create revision of its key: larger for each later holder of the same lock.
    pub revision: i64,
    key: String,
}

impl Locks {
    /// Those of this etcd.
    pub fn new(gateway: Gateway) -> Self {
        Self {
            gateway: Arc::new(gateway),
            free: Mutex::default(),
        }
    }

    /// Asks whether etcd answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn check(&self, limit: Duration) -> Result<(), CallError> {
        let body = json!({ "key": encoded("?") });
        self.gateway.call("kv/range", &body, limit).await.map(drop)
    }

    /// Acquires the lock of this name. If the future is dropped, its lease is revoked.
    ///
    /// # Errors
    /// Why it was not acquired.
    pub async fn acquire(&self, name: &str, options: &Options) -> Result<Held, Refused> {
        let end = Instant::now() + options.timeout;
        let lease = match self.lease(options.ttl) {
            Some(lease) => lease,
            None => {
                let grant = || Lease::grant(&self.gateway, options.ttl, options.member_timeout);
                // A lease without a key keeps nobody out.
                persist(grant, end, options.waits).await.map_err(|_| Refused::Outage)?
            }
        };
        let key = format!("{name}/{:x}", lease.id());
        let body = create(&key, lease.id());
        let create = || self.gateway.call("kv/txn", &body, options.member_timeout);
        let created = match persist(create, end, options.waits).await {
            Ok(answer) => answer,
            Err(CallError::Unreached(_)) => {
                self.put_back(lease);
                return Err(Refused::Outage);
            }
            // Its lease has ended, or the server is full.
            Err(CallError::Refused { .. }) => return Err(Refused::Outage),
            Err(CallError::Unknown(_)) => return Err(Refused::Unknown),
        };
        let mut revision = number(&created["header"]["revision"]);
        if created["succeeded"].as_bool() != Some(true) {
            // A member has made it that was too late to say so.
            revision = number(&created["responses"][0]["response_range"]["kvs"][0]["create_revision"]);
        }
        let held = Held { lease, revision, key };
        let body = older(name, &held);
        let older = || self.gateway.call("kv/txn", &body, options.member_timeout);
        let mut answered: Option<Instant> = None;
        loop {
            let Ok(answer) = persist(older, end, options.waits).await else {
                let is_late = answered.is_some_and(|at| at.elapsed() < 2 * LOOKS);
                let why = if is_late { Refused::Contended } else { Refused::Outage };
                return Err(self.withdraw(held, why, options).await);
            };
            answered = Some(Instant::now());
            // Whose lease has ended meanwhile has no key any more that would keep others out, whatever it believes of its lease.
            if answer["succeeded"].as_bool() != Some(true) {
                return Err(Refused::Outage);
            }
            let older = &answer["responses"][0]["response_range"]["kvs"][0];
            let Some(other) = decoded(&older["key"]) else {
                return match held.lease.validity().lasts() {
                    true => Ok(held),
                    false => Err(Refused::Outage),
                };
            };
            if !options.waits || left(end).is_zero() || !held.lease.validity().lasts() {
                return Err(self.withdraw(held, Refused::Contended, options).await);
            }
            let since = number(&answer["header"]["revision"]) + 1;
            // Nothing is known if it takes longer, or can't be watched.
            let told = timeout(LOOKS.min(left(end)), self.gateway.deleted(&other, since)).await;
            if told != Ok(true) {
                sleep(PAUSE.min(left(end))).await;
            }
        }
    }

    /// Releases it. Returns whether it was still held.
    pub async fn release(&self, held: Held, limit: Duration) -> bool {
        let deleted = self.gateway.call("kv/txn", &delete(&held), limit).await;
        let was_held = deleted.is_ok_and(|answer| answer["succeeded"].as_bool() == Some(true));
        // Otherwise its lease is revoked, and whatever is under it.
        if was_held {
            self.put_back(held.lease);
        }
        was_held
    }

    /// Takes the key of an acquire away that has not come to its turn, for this reason.
    async fn withdraw(&self, held: Held, why: Refused, options: &Options) -> Refused {
        match self
            .gateway
            .call("kv/txn", &delete(&held), options.member_timeout)
            .await
        {
            Ok(_) => {
                self.put_back(held.lease);
                why
            }
            Err(_) => Refused::Unknown,
        }
    }

    /// A lease that nobody uses, and that lasts for so long at a time.
    fn lease(&self, ttl: Duration) -> Option<Lease> {
        let mut free = self.free();
        free.retain(|lease| lease.validity().lasts() && lease.ttl() == ttl);
        free.pop()
    }

    fn put_back(&self, lease: Lease) {
        self.free().push(lease);
    }

    fn free(&self) -> MutexGuard<'_, Vec<Lease>> {
        // Each change is one call.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls until etcd has answered, or it is too late; once, if it is not to wait.
async fn persist<T, F: Future<Output = Result<T, CallError>>>(
    call: impl Fn() -> F,
    end: Instant,
    waits: bool,
) -> Result<T, CallError> {
    let mut may_be_done = None;
    loop {
        let late = || CallError::Unknown("it takes too long".to_owned());
        let answer = timeout(left(end), call()).await.unwrap_or_else(|_| Err(late()));
        let is_over = !waits || left(end) < PAUSE;
        match answer {
            Err(CallError::Unknown(why)) => may_be_done = Some(why),
            Err(CallError::Unreached(why)) if is_over && may_be_done.is_none() => {
                return Err(CallError::Unreached(why));
            }
            Err(CallError::Unreached(_)) => {}
            answer => return answer,
        }
        match may_be_done.take_if(|_| is_over) {
            Some(why) => return Err(CallError::Unknown(why)),
            None => sleep(PAUSE).await,
        }
    }
}

/// Makes the key under its lease, unless it is there; then it is read.
fn create(key: &str, lease: i64) -> Value {
    let key = encoded(key);
    json!({
        "compare": [{ "key": key, "target": "CREATE", "create_revision": "0" }],
        "success": [{ "request_put": { "key": key, "lease": lease.to_string() } }],
        "failure": [{ "request_range": { "key": key } }],
    })
}

/// The youngest key of this lock that is older than this one, if this is still there.
fn older(name: &str, held: &Held) -> Value {
    let (key, revision) = (encoded(&held.key), held.revision);
    let range = json!({
        "key": encoded(&format!("{name}/")),
        // The next text after all that begin like this.
        "range_end": encoded(&format!("{name}0")),
        "max_create_revision": (revision - 1).to_string(),
        "sort_order": "DESCEND",
        "sort_target": "CREATE",
        "limit": "1",
    });
    json!({
        "compare": [{ "key": key, "target": "CREATE", "create_revision": revision.to_string() }],
        "success": [{ "request_range": range }],
    })
}

/// Deletes the key, if it is the one that was made.
fn delete(held: &Held) -> Value {
    let (key, revision) = (encoded(&held.key), held.revision.to_string());
    json!({
        "compare": [{ "key": key, "target": "CREATE", "create_revision": revision }],
        "success": [{ "request_delete_range": { "key": key } }],
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn what_may_have_been_done_is_unknown_whatever_comes_after_it() {
        let unknown = || CallError::Unknown("silent".to_owned());
        let unreached = || CallError::Unreached("refused".to_owned());
        let after = async |first: CallError, then: CallError, waits: bool| {
            let calls = Cell::new(0);
            let call = || {
                calls.set(calls.get() + 1);
                let error = if calls.get() == 1 { first.clone() } else { then.clone() };
                async { Err::<(), _>(error) }
            };
            let end = Instant::now() + 5 * PAUSE;
            (persist(call, end, waits).await, calls.get())
        };
        assert_eq!(after(unknown(), unreached(), true).await.0, Err(unknown()));
        assert_eq!(after(unreached(), unknown(), true).await.0, Err(unknown()));
        let (never, calls) = after(unreached(), unreached(), true).await;
        assert!(never == Err(unreached()) && calls > 1, "{never:?} after {calls} calls");
        assert_eq!(after(unreached(), unknown(), false).await, (Err(unreached()), 1));
        let refused = CallError::Refused {
            code: 5,
            message: "no lease".to_owned(),
        };
        assert_eq!(after(unreached(), refused.clone(), true).await, (Err(refused), 2));
    }
}
