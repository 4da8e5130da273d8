//! `lock = "postgres"`: advisory locks of sessions.
//!
//! Each lock has a session, that is a connection, of its own while it is waited for and held, because a session is granted once more what
//! it has already. Such a lock has no TTL: it is held until it is released or its session ends, for whatever reason. A holder learns of
//! that end by a question that it asks now and then, and may believe for so long that it still has the lock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::{AnyConnection, Connection, Error, raw_sql};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::connect::Server;
use super::error::StoreError;
use crate::under_test::{Granted, Lock, OtherHold, OtherLock, OtherLocks, Reply, Site};
use lockstorm_data::scenario::DatabaseSpec;
use lockstorm_lock::{AcquireOptions, Refusal, Wait};

/// A key is one of 2^64 numbers, which the locks of a database have in common.
const TRY: &str = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))";
/// Waits in PostgreSQL's own line, for `lock_timeout` at most.
const LOCK: &str = "SELECT 1 FROM pg_advisory_lock(hashtextextended($1, 0))";
const UNLOCK: &str = "SELECT pg_advisory_unlock(hashtextextended($1, 0))";
const PATIENCE: &str = "SELECT set_config('lock_timeout', $1, false)";
/// The code of the error that the lock was not granted within `lock_timeout`.
const NOT_GRANTED: &str = "55P03";
/// Every function is PostgreSQL's own, whatever others have put where the user's search path leads.
const SESSION: &str = "SET search_path TO pg_catalog, pg_temp; SET application_name TO 'lockstorm: a lock'";

/// How often a holder asks whether its session is still there.
const ASKS: Duration = Duration::from_millis(250);
/// How much longer than its timeout a statement may take before nobody waits for it any more.
const GRACE: Duration = Duration::from_secs(1);
/// How long a worker pauses for which there is no session.
const PAUSE: Duration = Duration::from_millis(20);

/// Advisory locks of a database, for one run.
#[derive(Debug)]
pub struct SessionLocks {
    server: Server,
    run: String,
}

impl SessionLocks {
    /// Those of this database, which must be PostgreSQL. Other runs have others, by the name of this `run`.
    ///
    /// # Errors
    /// Its URL is wrong, or this program was built without PostgreSQL.
    pub fn new(spec: &DatabaseSpec, run: String) -> Result<Self, StoreError> {
        let server = Server::postgres(spec.url.reveal())?;
        Ok(Self { server, run })
    }
}

impl OtherLocks for SessionLocks {
    fn connect(&self, _: Site) -> Reply<'_, Result<Lock, String>> {
        Box::pin(async {
            let lock = SessionLock {
                server: self.server.clone(),
                run: self.run.clone(),
                free: Arc::default(),
                held: Mutex::default(),
                numbers: AtomicU64::new(1),
            };
            // What is wrong with all sessions is told at the start.
            let session = lock.open().await.map_err(|error| error.to_string())?;
            guarded(&lock.free).push(session);
            Ok(Lock::Other(Arc::new(lock)))
        })
    }
}

/// Asks for the release of a lock, and is told whether that was confirmed.
type Release = oneshot::Sender<oneshot::Sender<bool>>;

/// The lock as one app server uses it.
#[derive(Debug)]
struct SessionLock {
    server: Server,
    run: String,
    /// Sessions without a lock. There are never more of all kinds than workers.
    free: Arc<Mutex<Vec<Session>>>,
    /// By the number of each lock that is held, how it is released.
    held: Mutex<HashMap<u64, Release>>,
    numbers: AtomicU64,
}

#[derive(Debug)]
struct Session {
    connection: AnyConnection,
    /// For how long it waits for a lock; `None`: nobody has said yet.
    patience: Option<Duration>,
}

fn guarded<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is one call.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionLock {
    async fn open(&self) -> Result<Session, StoreError> {
        let mut connection = self.server.connect().await?;
        let set = raw_sql(SESSION).execute(&mut connection);
        self.server.within(self.server.connect, set).await?;
        Ok(Session {
            connection,
            patience: None,
        })
    }

    /// A session that was granted the lock on `key`.
    async fn granted(&self, key: &str, options: &AcquireOptions) -> Result<Session, Refusal> {
        let outage = || Refusal::NoQuorum { causes: Vec::new() };
        let (end, mut patience) = (Instant::now() + options.timeout, options.timeout);
        loop {
            let free = guarded(&self.free).pop();
            let was_used = free.is_some();
            let mut session = match free {
                Some(session) => session,
                None => self.open().await.map_err(|_| outage())?,
            };
            match session.take(key, options.wait, patience).await {
                Ok(true) => return Ok(session),
                Ok(false) => {
                    guarded(&self.free).push(session);
                    return Err(Refusal::Contended);
                }
                // It may have ended long ago, and then others have, too: each is dropped, with whatever lock it may have.
                Err(error) => {
                    let is_over = StoreError::from(error).is_loss();
                    if !(was_used && is_over) {
                        return Err(outage());
                    }
                    patience = end.saturating_duration_since(Instant::now());
                }
            }
        }
    }
}

impl Session {
    async fn take(&mut self, key: &str, wait: Wait, patience: Duration) -> Result<bool, Error> {
        let connection = &mut self.connection;
        if wait == Wait::FailFast {
            return sqlx::query_scalar(TRY).bind(key.to_owned()).fetch_one(connection).await;
        }
        if self.patience != Some(patience) {
            // 0 would be for ever.
            let ms = patience.as_millis().max(1).to_string();
            sqlx::query(PATIENCE).bind(ms).execute(&mut *connection).await?;
            self.patience = Some(patience);
        }
        match sqlx::query(LOCK).bind(key.to_owned()).execute(connection).await {
            Ok(_) => Ok(true),
            Err(Error::Database(error)) if error.code().as_deref() == Some(NOT_GRANTED) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl OtherLock for SessionLock {
    fn acquire<'a>(&'a self, key: &'a str, options: &'a AcquireOptions) -> Reply<'a, Result<Arc<OtherHold>, Refusal>> {
        Box::pin(async move {
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            let locked = format!("{}:{key}", self.run);
            let granted = Granted {
                key: key.to_owned(),
                token: format!("session lock {number}"),
                number,
                asked: Instant::now(),
                voters: Vec::new(),
                nodes: 0,
                fence: None,
                ttl: None,
                is_renewed: false,
            };
            // If nobody answers, or this future is dropped, the connection is closed, and whatever was granted ends with it.
            let session = match timeout(options.timeout + GRACE, self.granted(&locked, options)).await {
                Ok(Ok(session)) => session,
                Ok(Err(refusal)) => {
                    if refusal != Refusal::Contended {
                        sleep(PAUSE).await;
                    }
                    return Err(refusal);
                }
                Err(_) => return Err(Refusal::Unknown { causes: Vec::new() }),
            };
            let hold = Arc::new(OtherHold::new(granted, None));
            let (release, wanted) = oneshot::channel();
            {
                let mut held = guarded(&self.held);
                // Those that were cancelled are released by nobody.
                held.retain(|_, release| !release.is_closed());
                held.insert(number, release);
            }
            tokio::spawn(keep(session, locked, Arc::clone(&hold), wanted, Arc::clone(&self.free)));
            Ok(hold)
        })
    }

    fn release<'a>(&'a self, hold: &'a OtherHold) -> Reply<'a, bool> {
        Box::pin(async move {
            let release = guarded(&self.held).remove(&hold.granted.number);
            let (tell, told) = oneshot::channel();
            let is_asked = release.is_some_and(|release| release.send(tell).is_ok());
            is_asked && matches!(timeout(GRACE, told).await, Ok(Ok(true)))
        })
    }
}

/// Keeps the session of a lock until its release is wanted, or its holder has gone, and then frees it for another.
async fn keep(
    mut session: Session,
    locked: String,
    hold: Arc<OtherHold>,
    mut wanted: oneshot::Receiver<oneshot::Sender<bool>>,
    free: Arc<Mutex<Vec<Session>>>,
) {
    let tell = loop {
        tokio::select! {
            biased;
            tell = &mut wanted => break tell.ok(),
            () = sleep(ASKS) => {}
        }
        // A section that is over releases its lock; if it was cancelled, it does not.
        if hold.is_over() {
            break timeout(ASKS, &mut wanted).await.ok().and_then(Result::ok);
        }
        // A server that stands still has not ended its sessions.
        if let Ok(Err(_)) = timeout(GRACE, session.connection.ping()).await {
            hold.lose(Instant::now());
            return;
        }
    };
    let unlock = sqlx::query_scalar(UNLOCK)
        .bind(locked)
        .fetch_one(&mut session.connection);
    let answer = timeout(GRACE, unlock).await;
    let is_released = matches!(answer, Ok(Ok(true)));
    if is_released {
        hold.released();
        guarded(&free).push(session);
    } else if let Ok(Ok(false) | Err(_)) = answer {
        // It had ended before.
        hold.lose(Instant::now());
    }
    // A session that is not free is closed, which ends whatever it has.
    if let Some(tell) = tell {
        // Nobody may wait for it any more.
        let _ = tell.send(is_released);
    }
}
