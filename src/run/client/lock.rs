//! The lock of a client, as workers use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::link::{Link, missing, unknown};
use super::message::{Can, Hello, Is};
use crate::under_test::{Granted, OtherHold, OtherLock, Reply};
use lockstorm_data::facts;
use lockstorm_lock::{AcquireOptions, Refusal, Wait};

/// How much longer than its timeout an acquire may take before the client counts as one that does not answer.
pub const GRACE: Duration = Duration::from_secs(5);
/// An acquire that is given up so much after its timeout was not answered; before that, the answer may have been on its way.
const LATE: Duration = Duration::from_secs(1);
/// How long a worker pauses whose client is not there.
const PAUSE: Duration = Duration::from_millis(20);

/// A client's lock on one app server.
#[derive(Debug)]
pub(super) struct ClientLock {
    pub link: Link,
    /// How many nodes it is on.
    pub nodes: usize,
    pub hello: Hello,
    /// What it was told at its start; turns of the TTL in mid-run don't reach it.
    pub ttl: Duration,
    /// Whether it was told to renew its locks, and does so by itself.
    pub is_renewed: bool,
    /// Whether it has not answered a release.
    pub is_mute: AtomicBool,
}

impl OtherLock for ClientLock {
    fn acquire<'a>(&'a self, key: &'a str, options: &'a AcquireOptions) -> Reply<'a, Result<Arc<OtherHold>, Refusal>> {
        Box::pin(async move {
            if !self.link.is_open() {
                sleep(PAUSE).await;
                return Err(missing());
            }
            let granted = Granted {
                key: key.to_owned(),
                token: format!("{:016x}", rand::random::<u64>()),
                number: 0,
                asked: Instant::now(),
                voters: Vec::new(),
                nodes: self.nodes,
                fence: None,
                ttl: Some(self.ttl),
                is_renewed: self.is_renewed,
            };
            let mut awaited = Awaited {
                link: &self.link,
                since: granted.asked,
                within: options.timeout,
            };
            let answer = timeout(
                options.timeout + GRACE,
                self.link.acquire(granted, longest_wait(options)),
            )
            .await;
            let Ok(answer) = answer else {
                return Err(unknown());
            };
            awaited.within = Duration::MAX;
            let hold = answer?;
            if let Some(every) = options.renew
                && !self.hello.can.contains(&Can::Renew)
            {
                tokio::spawn(renew(self.link.clone(), Arc::clone(&hold), every));
            }
            Ok(hold)
        })
    }

    fn release<'a>(&'a self, hold: &'a OtherHold) -> Reply<'a, bool> {
        Box::pin(async move {
            // Of a client that answers no releases nobody waits for one again.
            let limit = if self.is_mute.load(Ordering::Relaxed) {
                Duration::ZERO
            } else {
                GRACE
            };
            match timeout(limit, self.link.release(hold.granted.number)).await {
                Ok(Is::Released) => {
                    hold.released();
                    true
                }
                Ok(_) => false,
                Err(_) => {
                    if !self.is_mute.swap(true, Ordering::Relaxed) {
                        self.link.complain_of_silence(facts::Order::Release, GRACE, GRACE);
                    }
                    false
                }
            }
        })
    }
}

/// An acquire that is not answered yet. Whoever stops waiting for it that late complains.
struct Awaited<'a> {
    link: &'a Link,
    since: Instant,
    within: Duration,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        let waited = self.since.elapsed();
        if waited > self.within.saturating_add(LATE) && self.link.is_open() {
            self.link
                .complain_of_silence(facts::Order::Acquire, waited, self.within);
        }
    }
}

/// A client that is not there: nobody gets a lock of it.
#[derive(Debug)]
pub(super) struct Absent;

impl OtherLock for Absent {
    fn acquire<'a>(&'a self, _: &'a str, _: &'a AcquireOptions) -> Reply<'a, Result<Arc<OtherHold>, Refusal>> {
        Box::pin(async {
            sleep(PAUSE).await;
            Err(missing())
        })
    }

    fn release<'a>(&'a self, _: &'a OtherHold) -> Reply<'a, bool> {
        Box::pin(async { false })
    }
}

/// How long a client is to wait for a lock that is held: as long as the engine's locks would at most.
fn longest_wait(options: &AcquireOptions) -> Duration {
    match options.wait {
        Wait::FailFast => Duration::ZERO,
        Wait::Queue => options.timeout,
        Wait::Retry { retries, delay, jitter } => (delay + jitter).saturating_mul(retries).min(options.timeout),
    }
}

/// Has a lock extended for as long as it is held.
async fn renew(link: Link, hold: Arc<OtherHold>, every: Duration) {
    loop {
        sleep(every).await;
        if hold.is_over() {
            return;
        }
        match timeout(GRACE, link.extend(hold.granted.number)).await {
            Ok(Is::Lost) => return,
            Ok(_) => {}
            Err(_) => return link.complain_of_silence(facts::Order::Extend, GRACE, GRACE),
        }
    }
}
