//! Redlock with its options, for programs that use one set of them.

use std::time::Duration;

use crate::{AcquireOptions, Gauges, Guard, Lock, Nodes, Refusal, Wait};

/// A Redlock over some nodes, with the options of its acquires. Clones share connections, line and figures.
///
/// # Example
/// ```no_run
/// use std::time::Duration;
/// use lockstorm_lock::{NodeOptions, Nodes, Redlock, Refusal};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let urls = ["redis://10.0.0.1:6379", "redis://10.0.0.2:6379", "redis://10.0.0.3:6379"];
/// let nodes = Nodes::open(&urls, NodeOptions::default())?;
/// let redlock = Redlock::builder(nodes)
///     .ttl(Duration::from_secs(5))
///     .renew_every(Duration::from_secs(2))
///     .wait_up_to(Duration::from_secs(1))
///     .build();
///
/// match redlock.acquire("invoice:42").await {
///     Ok(guard) => {
///         tokio::select! {
///             () = send_invoice() => {}
///             // Somebody else may hold it from now on: stop.
///             () = guard.lost() => return Err("the lock was lost".into()),
///         }
///         guard.release().await;
///     }
///     Err(Refusal::Contended) => println!("somebody else is at it"),
///     Err(outage) => return Err(outage.into()),
/// }
/// # Ok(())
/// # }
/// # async fn send_invoice() {}
/// ```
#[derive(Debug, Clone)]
pub struct Redlock {
    lock: Lock,
    options: AcquireOptions,
}

impl Redlock {
    /// Begins with the options of [`AcquireOptions::default`].
    pub fn builder(nodes: Nodes) -> RedlockBuilder {
        RedlockBuilder {
            nodes,
            seed: None,
            options: AcquireOptions::default(),
        }
    }

    /// Acquires the lock on `key`. Dropping the future takes back whatever was asked for so far.
    ///
    /// # Errors
    /// [`Refusal::Contended`] if somebody else holds it; all others say that too few nodes could be asked, and why.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn acquire(&self, key: &str) -> Result<Guard, Refusal> {
        self.lock.acquire(key, &self.options).await
    }

    /// The same without waiting for others: one attempt, one round trip.
    ///
    /// # Errors
    /// As [`Redlock::acquire`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn try_acquire(&self, key: &str) -> Result<Guard, Refusal> {
        self.lock.try_acquire(key, &self.options).await
    }

    /// The options.
    #[must_use]
    pub const fn options(&self) -> &AcquireOptions {
        &self.options
    }

    /// What it is doing now.
    #[must_use]
    pub fn gauges(&self) -> std::sync::Arc<Gauges> {
        self.lock.gauges()
    }
}

/// Makes a [`Redlock`].
#[derive(Debug, Clone)]
#[must_use]
pub struct RedlockBuilder {
    nodes: Nodes,
    seed: Option<u64>,
    options: AcquireOptions,
}

impl RedlockBuilder {
    /// How long nodes keep the lock without an extension; 10 s if left out. What can be relied on is 1 % + 2 ms less.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// Extends a held lock so often, a third or a half of the TTL, say. Left out: it ends with its TTL.
    pub const fn renew_every(mut self, interval: Duration) -> Self {
        self.options.renew = Some(interval);
        self
    }

    /// Ends a lock at this age, however often it is extended.
    pub const fn lifetime(mut self, most: Duration) -> Self {
        self.options.lifetime = Some(most);
        self
    }

    /// Asks nodes that lost the key of a renewed lock for it again; see [`AcquireOptions::repair`].
    pub const fn repair(mut self, repair: bool) -> Self {
        self.options.repair = repair;
        self
    }

    /// Waits in line for a lock that somebody else holds, or for nodes to come back if too few of them can be asked, so long at
    /// most. Left out: it is refused at once. Those stand in one line who use clones of one lock: build it once.
    pub const fn wait_up_to(mut self, timeout: Duration) -> Self {
        self.options.wait = Wait::Queue;
        self.options.timeout = timeout;
        self
    }

    /// The longest that an acquire may take, however it waits; 1 s if left out.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = timeout;
        self
    }

    /// Any other way to wait, and the bound of all of it.
    pub const fn wait(mut self, wait: Wait, timeout: Duration) -> Self {
        self.options.wait = wait;
        self.options.timeout = timeout;
        self
    }

    /// How long to wait for a node's reply, if that is less than the nodes' own [`node_timeout`]; more than the longest usual
    /// round trip.
    ///
    /// [`node_timeout`]: crate::NodeOptions::node_timeout
    pub const fn reply_timeout(mut self, timeout: Duration) -> Self {
        self.options.reply_timeout = Some(timeout);
        self
    }

    /// Draws the jitter of retries from this seed, so that they can be repeated.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The lock. What is beyond all bounds is brought within them: a TTL has whole milliseconds, 1 at least.
    #[must_use]
    pub fn build(self) -> Redlock {
        Redlock {
            lock: Lock::redlock(&self.nodes, self.seed.unwrap_or_else(rand::random)),
            options: self.options,
        }
    }
}
