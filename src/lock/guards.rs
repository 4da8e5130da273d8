//! Locks on several keys, all or none.

use std::future::poll_fn;
use std::ops::Deref;
use std::pin::Pin;
use std::task::Poll;

use crate::clock;
use crate::guard::Guard;
use crate::lock::Lock;
use crate::options::AcquireOptions;
use crate::protocol::Released;
use crate::refusal::Refusal;

/// Held locks on several keys, in the order of the keys. Dropping this releases them in the background, the last one first.
#[derive(Debug)]
#[must_use = "dropping the guards releases the locks"]
pub struct Guards(Vec<Guard>);

/// One of several keys was not acquired, and the others were given back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {refusal}", String::from_utf8_lossy(key))]
#[non_exhaustive]
pub struct RefusedKey {
    /// The key.
    pub key: Vec<u8>,
    /// Why it was not acquired.
    #[source]
    pub refusal: Refusal,
}

impl Lock {
    /// Acquires the locks on all these keys, or none: one after the other in the order of their bytes, which is the same for all
    /// callers, so that no two wait for each other. A key that is named twice counts once. The timeout of the options is for all of
    /// them together; let the locks be renewed, or choose a TTL that leaves enough of the first one when the last one is there.
    ///
    /// # Errors
    /// The key that was refused, and why. A lock that is lost before the last one is acquired counts as
    /// [`Expired`](Refusal::Expired).
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn acquire_all<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        options: &AcquireOptions,
    ) -> Result<Guards, RefusedKey> {
        let mut keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        keys.sort_unstable();
        keys.dedup();
        let (start, timeout) = (clock::now(), options.bounded().timeout);
        let mut guards = Guards(Vec::with_capacity(keys.len()));
        let refused = |key: &[u8], refusal| RefusedKey {
            key: key.to_owned(),
            refusal,
        };
        for key in keys {
            let rest = options.timeout(timeout.saturating_sub(clock::now() - start));
            let acquired = self.acquire(key, &rest).await;
            guards.0.push(acquired.map_err(|refusal| refused(key, refusal))?);
        }
        if let Some(lost) = guards.iter().find(|guard| guard.is_lost()) {
            let (votes, elapsed) = (lost.votes(), clock::now() - start);
            return Err(refused(lost.key(), Refusal::Expired { votes, elapsed }));
        }
        Ok(guards)
    }
}

impl Guards {
    /// Whether one of the locks can't be relied on any more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.iter().any(Guard::is_lost)
    }

    /// Resolves when one of the locks is lost.
    pub async fn lost(&self) {
        let mut all: Vec<_> = self.iter().map(|guard| Box::pin(guard.lost())).collect();
        poll_fn(
            |cx| match all.iter_mut().any(|lost| Pin::new(lost).poll(cx).is_ready()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            },
        )
        .await;
    }

    /// Releases the locks, the last one first, as [`Guard::release`] does; returns the results in the order of the keys.
    pub async fn release(mut self) -> Vec<Released> {
        // All deletes are queued before any is waited for.
        let mut releases: Vec<_> = std::mem::take(&mut self.0)
            .into_iter()
            .rev()
            .map(Guard::begin_release)
            .collect();
        let mut released = Vec::with_capacity(releases.len());
        while let Some(release) = releases.pop() {
            released.push(release.await);
        }
        released
    }
}

impl Deref for Guards {
    type Target = [Guard];

    fn deref(&self) -> &[Guard] {
        &self.0
    }
}

impl Drop for Guards {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}
