//! Redlock with fixed options, for programs that use the same ones everywhere.

use std::time::Duration;

use crate::gauges::Gauges;
use crate::guard::Guard;
use crate::guards::{Guards, RefusedKey};
use crate::lock::Lock;
use crate::nodes::Nodes;
use crate::options::{AcquireOptions, Unusable, option_setters};
use crate::protocol::Wait;
use crate::refusal::Refusal;
use crate::section::NotDone;

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
    nodes: Nodes,
    lock: Lock,
    options: AcquireOptions,
}

impl Redlock {
    /// A builder that starts from [`AcquireOptions::default`].
    #[must_use]
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
    pub async fn acquire(&self, key: impl AsRef<[u8]>) -> Result<Guard, Refusal> {
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
    pub async fn try_acquire(&self, key: impl AsRef<[u8]>) -> Result<Guard, Refusal> {
        self.lock.try_acquire(key, &self.options).await
    }

    /// Acquires the lock on `key`, does `work`, and releases the lock; the work is stopped if the lock is lost. For example:
    ///
    /// ```no_run
    /// # use lockstorm_lock::{NotDone, Redlock};
    /// # async fn example(redlock: Redlock) -> Result<(), NotDone> {
    /// let sent = redlock.using("invoice:42", async |_guard| send_invoice().await).await?;
    /// # Ok(())
    /// # }
    /// # async fn send_invoice() {}
    /// ```
    ///
    /// # Errors
    /// If the lock was not acquired, or if it was lost before the work ended.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn using<T>(&self, key: impl AsRef<[u8]>, work: impl AsyncFnOnce(&Guard) -> T) -> Result<T, NotDone> {
        self.lock.using(key, &self.options, work).await
    }

    /// Acquires the locks on all these keys, or none; see [`Lock::acquire_all`].
    ///
    /// # Errors
    /// The key that was refused, and why.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn acquire_all<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Guards, RefusedKey> {
        self.lock.acquire_all(keys, &self.options).await
    }

    /// This lock with other options, for one acquire or for many: it shares the connections, waiting lines and gauges.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use lockstorm_lock::Redlock;
    /// # async fn example(redlock: Redlock) -> Result<(), Box<dyn std::error::Error>> {
    /// let patient = redlock.options().wait_up_to(Duration::from_secs(30));
    /// let guard = redlock.with(patient)?.acquire("invoice:42").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If no lock could ever be held with them: see [`Unusable`].
    pub fn with(&self, options: AcquireOptions) -> Result<Self, Unusable> {
        options.check()?;
        Ok(Self {
            options,
            ..self.clone()
        })
    }

    /// The options.
    #[must_use]
    pub const fn options(&self) -> &AcquireOptions {
        &self.options
    }

    /// The nodes, which say how each of them is: see [`Nodes::states`].
    #[must_use]
    pub const fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// What the lock is doing now.
    #[must_use]
    pub fn gauges(&self) -> std::sync::Arc<Gauges> {
        self.lock.gauges()
    }
}

/// Makes a [`Redlock`].
#[derive(Debug, Clone)]
pub struct RedlockBuilder {
    nodes: Nodes,
    seed: Option<u64>,
    options: AcquireOptions,
}

impl RedlockBuilder {
    /// All options at once.
    #[must_use]
    pub const fn options(mut self, options: AcquireOptions) -> Self {
        self.options = options;
        self
    }

    option_setters!(self, self.options);

    /// Draws the jitter of retries from this seed, so that a test can repeat it.
    #[must_use]
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
            nodes: self.nodes,
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
        assert_eq!(build(3, ttl, Some(millis(0))), Err(Unusable::Zero { option: "renew" }));
        let never = Redlock::builder(Nodes::unconnected(1)).timeout(millis(0)).build();
        assert_eq!(never.map(|_| ()), Err(Unusable::Zero { option: "timeout" }));
    }
}
