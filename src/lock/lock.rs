use std::sync::Arc;

use crate::acquire::Callers;
use crate::clock;
use crate::gauges::Gauges;
use crate::guard::Guard;
use crate::local::Local;
use crate::nodes::Nodes;
use crate::options::AcquireOptions;
use crate::protocol::{Time, Wait};
use crate::refusal::Refusal;

/// A lock strategy of one app server. Clones share its connections, waiters and gauges.
#[derive(Debug, Clone)]
pub struct Lock {
    strategy: Strategy,
    gauges: Arc<Gauges>,
}

#[derive(Debug, Clone)]
enum Strategy {
    None,
    Local(Local),
    Quorum(Arc<Callers>),
}

impl Lock {
    /// No lock: every acquire succeeds at once.
    #[must_use]
    pub fn none() -> Self {
        Self::new(Strategy::None)
    }

    /// A mutex for each key, which excludes only the clones of this lock in this process. First come, first served; it has
    /// no TTL and can't be lost.
    #[must_use]
    pub fn local() -> Self {
        Self::new(Strategy::Local(Local::default()))
    }

    /// A lock on the single node at `index`. `seed` determines the jitter of retries.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn single(nodes: &Nodes, index: usize, seed: u64) -> Self {
        Self::redlock(&nodes.subset(&[index]), seed)
    }

    /// A lock that a majority of all nodes must vote for. `seed` determines the jitter of retries.
    #[must_use]
    pub fn redlock(nodes: &Nodes, seed: u64) -> Self {
        Self::new(Strategy::Quorum(Arc::new(Callers::new(nodes.clone(), seed))))
    }

    fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            gauges: Arc::default(),
        }
    }

    /// Acquires the lock on `key`. If the future is dropped, the votes asked for so far are taken back.
    ///
    /// # Errors
    /// The [`Refusal`] of the last attempt.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn acquire(&self, key: impl AsRef<[u8]>, options: &AcquireOptions) -> Result<Guard, Refusal> {
        let (key, options) = (key.as_ref(), &options.bounded());
        let since = self.observed_since();
        let acquired = match &self.strategy {
            Strategy::None => Ok(Guard::nothing()),
            Strategy::Local(local) => {
                self.gauges.attempt();
                let deadline = (options.wait != Wait::FailFast).then(|| clock::now() + options.timeout);
                let guard = local.acquire(key, &self.gauges, deadline).await;
                guard.map(Guard::local).ok_or(Refusal::Contended)
            }
            Strategy::Quorum(callers) => callers.acquire(key, options, &self.gauges).await,
        };
        self.observe(key, since, &acquired);
        acquired
    }

    /// Tries once to acquire the lock on `key`, whatever the options say about waiting. If they say to wait in line, the release
    /// is announced to those who do. If the future is dropped, the votes asked for so far are taken back.
    ///
    /// # Errors
    /// The [`Refusal`] of the attempt.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn try_acquire(&self, key: impl AsRef<[u8]>, options: &AcquireOptions) -> Result<Guard, Refusal> {
        match &self.strategy {
            Strategy::Quorum(callers) => {
                let (key, since) = (key.as_ref(), self.observed_since());
                let acquired = callers.try_acquire(key, &options.bounded(), &self.gauges).await;
                self.observe(key, since, &acquired);
                acquired
            }
            Strategy::None | Strategy::Local(_) => {
                let wait = Wait::FailFast;
                self.acquire(key, &options.wait(wait)).await
            }
        }
    }

    /// When an acquire begins, if there is an observer.
    fn observed_since(&self) -> Option<Time> {
        self.gauges.observer().map(|_| clock::now())
    }

    /// Tells the observer what became of an acquire that began at `since`.
    fn observe(&self, key: &[u8], since: Option<Time>, acquired: &Result<Guard, Refusal>) {
        if let (Some(observer), Some(since)) = (self.gauges.observer(), since) {
            let waited = clock::now() - since;
            match acquired {
                Ok(_) => observer.acquired(key, waited),
                Err(refusal) => observer.refused(key, refusal, waited),
            }
        }
    }

    /// This lock, with its connections and waiters, but counted by other gauges.
    #[must_use]
    pub fn counted_by(&self, gauges: Arc<Gauges>) -> Self {
        Self {
            strategy: self.strategy.clone(),
            gauges,
        }
    }

    /// What this lock is doing now.
    #[must_use]
    pub fn gauges(&self) -> Arc<Gauges> {
        Arc::clone(&self.gauges)
    }
}
