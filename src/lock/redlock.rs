//! Redlock with fixed options, for programs that use the same ones everywhere.

use std::time::Duration;

use crate::gauges::Gauges;
use crate::guard::Guard;
use crate::lock::Lock;
use crate::nodes::Nodes;
use crate::options::{AcquireOptions, Unusable};
use crate::protocol::Wait;
use crate::refusal::Refusal;

/// A Redlock over some nodes, with the options of its acquires. Clones share connections, waiting lines and gauges.
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
///     .build()?;
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
    /// A builder that starts from [`AcquireOptions::default`].
    pub fn builder(nodes: Nodes) -> RedlockBuilder {
        RedlockBuilder {
            nodes,
            seed: None,
            options: AcquireOptions::default(),
        }
    }

    /// Acquires the lock on `key`. If the future is dropped, the votes asked for so far are taken back.
    ///
    /// # Errors
    /// [`Refusal::Contended`] if somebody else holds it; any other refusal says that too few nodes could be asked, and why.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn acquire(&self, key: &str) -> Result<Guard, Refusal> {
        self.lock.acquire(key, &self.options).await
    }

    /// Tries to acquire the lock on `key` without waiting for other holders: one attempt, one round trip. If the future is
    /// dropped, the votes asked for so far are taken back.
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

    /// What the lock is doing now.
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
    /// How long nodes keep the lock without an extension; 10 s if left out. The lock can be relied on for 1 % and 2 ms less.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// The interval at which a held lock is extended, for example a third or half of the TTL. If left out, the lock ends
    /// with its TTL.
    pub const fn renew_every(mut self, interval: Duration) -> Self {
        self.options.renew = Some(interval);
        self
    }

    /// The longest that a lock may be held, however often it is extended.
    pub const fn lifetime(mut self, most: Duration) -> Self {
        self.options.lifetime = Some(most);
        self
    }

    /// Whether renewals ask nodes that lost the key to set it again; see [`AcquireOptions::repair`].
    pub const fn repair(mut self, repair: bool) -> Self {
        self.options.repair = repair;
        self
    }

    /// Waits in line, for `timeout` at most, if somebody else holds the lock or too few nodes can be asked. If left out,
    /// such an acquire is refused at once. Only clones of one lock share a line, so build it once.
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

    /// Any other way to wait, and the longest that the whole acquire may take.
    pub const fn wait(mut self, wait: Wait, timeout: Duration) -> Self {
        self.options.wait = wait;
        self.options.timeout = timeout;
        self
    }

    /// How long to wait for a node's reply, if that is less than the nodes' own [`node_timeout`]. Choose more than the
    /// longest usual round trip.
    ///
    /// [`node_timeout`]: crate::NodeOptions::node_timeout
    pub const fn reply_timeout(mut self, timeout: Duration) -> Self {
        self.options.reply_timeout = Some(timeout);
        self
    }

    /// Draws the jitter of retries from this seed, so that a test can repeat it.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Builds the lock. A TTL is cut to whole milliseconds.
    ///
    /// # Errors
    /// If no lock could ever be held, or none could be kept by its renewal: see [`Unusable`].
    pub fn build(self) -> Result<Redlock, Unusable> {
        if self.nodes.is_empty() {
            return Err(Unusable::NoNodes);
        }
        self.options.check()?;
        Ok(Redlock {
            lock: Lock::redlock(&self.nodes, self.seed.unwrap_or_else(rand::random)),
            options: self.options,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_could_not_be_held_is_not_built() {
        let millis = Duration::from_millis;
        let build = |nodes, ttl, renew| {
            let builder = Redlock::builder(Nodes::unconnected(nodes)).ttl(ttl);
            match renew {
                Some(renew) => builder.renew_every(renew),
                None => builder,
            }
            .build()
            .map(|_| ())
        };
        assert_eq!(build(0, millis(1000), None), Err(Unusable::NoNodes));
        let short = Duration::from_micros(2999);
        assert_eq!(build(1, short, None), Err(Unusable::TtlTooShort { ttl: short }));
        assert_eq!(build(1, millis(3), None), Ok(()));
        let (ttl, renew) = (millis(1000), millis(1000));
        assert_eq!(build(3, ttl, Some(renew)), Err(Unusable::RenewedTooLate { ttl, renew }));
        assert_eq!(build(3, ttl, Some(millis(999))), Ok(()));
    }
}
