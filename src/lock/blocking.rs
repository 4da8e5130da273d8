//! The same locks for programs without a runtime of their own. A thread in the background has the connections, so locks are
//! renewed while their owner blocks, computes or sleeps.
//!
//! ```no_run
//! use std::time::Duration;
//! use lockstorm_lock::{AcquireOptions, NodeOptions, blocking::Redlock};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let urls = ["redis://10.0.0.1:6379", "redis://10.0.0.2:6379", "redis://10.0.0.3:6379"];
//! let options = AcquireOptions::new()
//!     .renew_every(Duration::from_secs(3))
//!     .wait_up_to(Duration::from_secs(1));
//! let redlock = Redlock::open(&urls, NodeOptions::new(), options)?;
//! let guard = redlock.acquire("invoice:42")?;
//! send_invoice();
//! if guard.is_lost() {
//!     return Err("somebody else may have sent it too".into());
//! }
//! guard.release();
//! # Ok(())
//! # }
//! # fn send_invoice() {}
//! ```
//!
//! Nothing here may be called from a task of a tokio runtime: it would panic, and the drop of the last owner blocks until the thread
//! has ended, a second at most. There use [`crate::Redlock`].

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::gauges::Gauges;
use crate::node::address::BadAddress;
use crate::node::options::NodeOptions;
use crate::node::state::NodeState;
use crate::nodes::Nodes;
use crate::options::{AcquireOptions, Unusable};
use crate::protocol::Released;
use crate::redlock;
use crate::refusal::{NotExtended, Refusal};

/// How long the end of the last owner waits for nodes to run what was released in the background.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A lock could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotOpened {
    /// An address can't be used.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// No lock could ever be held with these options.
    #[error(transparent)]
    Options(#[from] Unusable),
    /// The thread could not be started.
    #[error("no thread for connections: {0}")]
    Thread(#[from] io::Error),
}

/// A Redlock whose functions block. Clones share the thread with the connections, which ends with the last of them and of
/// their guards, once the nodes have run what was released, or a second later.
#[derive(Debug, Clone)]
pub struct Redlock {
    lock: redlock::Redlock,
    background: Arc<Background>,
}

/// A held lock. Dropping it releases the lock in the background. It is a [`crate::Guard`], which says what there is to know of
/// it.
#[derive(Debug)]
#[must_use = "dropping a guard releases the lock"]
pub struct Guard {
    guard: crate::guard::Guard,
    background: Arc<Background>,
}

/// The thread with the connections.
#[derive(Debug)]
struct Background {
    runtime: Handle,
    nodes: Option<Nodes>,
    /// The thread, and what ends it.
    thread: Option<(oneshot::Sender<Nodes>, JoinHandle<()>)>,
}

impl Background {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (end, ends) = oneshot::channel::<Nodes>();
        let handle = runtime.handle().clone();
        let run = move || {
            runtime.block_on(async {
                if let Ok(nodes) = ends.await {
                    nodes.shutdown(LAST_WORDS).await;
                }
            });
        };
        let thread = thread::Builder::new().name("lockstorm-lock".to_owned()).spawn(run)?;
        Ok(Self {
            runtime: handle,
            nodes: None,
            thread: Some((end, thread)),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.thread.take() {
            // A thread that has panicked hears nothing, and has nothing to say.
            match self.nodes.take() {
                Some(nodes) => drop(end.send(nodes)),
                None => drop(end),
            }
            drop(thread.join());
        }
    }
}

impl Redlock {
    /// Starts a thread, and in it connections to the nodes at these URLs, which are like those of [`Nodes::open`].
    ///
    /// # Errors
    /// If a URL or the options can't be used, or there can be no thread.
    pub fn open<U: AsRef<str>>(urls: &[U], nodes: NodeOptions, options: AcquireOptions) -> Result<Self, NotOpened> {
        options.check()?;
        let mut background = Background::start()?;
        let nodes = {
            let _inside = background.runtime.enter();
            Nodes::open(urls, nodes)?
        };
        background.nodes = Some(nodes.clone());
        let lock = redlock::Redlock::builder(nodes).options(options).build()?;
        let background = Arc::new(background);
        Ok(Self { lock, background })
    }

    /// As [`crate::Redlock::acquire`].
    ///
    /// # Errors
    /// The same.
    ///
    /// # Panics
    /// In a task of a tokio runtime.
    pub fn acquire(&self, key: impl AsRef<[u8]>) -> Result<Guard, Refusal> {
        self.guarded(self.lock.acquire(key))
    }

    /// As [`crate::Redlock::try_acquire`].
    ///
    /// # Errors
    /// The same.
    ///
    /// # Panics
    /// In a task of a tokio runtime.
    pub fn try_acquire(&self, key: impl AsRef<[u8]>) -> Result<Guard, Refusal> {
        self.guarded(self.lock.try_acquire(key))
    }

    /// The options.
    #[must_use]
    pub const fn options(&self) -> &AcquireOptions {
        self.lock.options()
    }

    /// How each node is: see [`Nodes::states`].
    #[must_use]
    pub fn states(&self) -> Vec<NodeState> {
        self.lock.nodes().states()
    }

    /// What the lock is doing now; it also takes an [`Observer`](crate::Observer).
    #[must_use]
    pub fn gauges(&self) -> Arc<Gauges> {
        self.lock.gauges()
    }

    /// As [`Nodes::ready`].
    ///
    /// # Panics
    /// In a task of a tokio runtime.
    #[must_use]
    pub fn ready(&self, within: Duration) -> usize {
        self.background.runtime.block_on(self.lock.nodes().ready(within))
    }

    /// As [`Nodes::flush`].
    ///
    /// # Panics
    /// In a task of a tokio runtime.
    #[expect(
        clippy::must_use_candidate,
        reason = "what is flushed is, whatever is done with the result"
    )]
    pub fn flush(&self, within: Duration) -> usize {
        self.background.runtime.block_on(self.lock.nodes().flush(within))
    }

    fn guarded(&self, acquire: impl Future<Output = Result<crate::guard::Guard, Refusal>>) -> Result<Guard, Refusal> {
        let guard = self.background.runtime.block_on(acquire)?;
        let background = Arc::clone(&self.background);
        Ok(Guard { guard, background })
    }

    /// As [`crate::Redlock::with`].
    ///
    /// # Errors
    /// The same.
    pub fn with(&self, options: AcquireOptions) -> Result<Self, Unusable> {
        let lock = self.lock.with(options)?;
        let background = Arc::clone(&self.background);
        Ok(Self { lock, background })
    }
}

impl Guard {
    /// As [`crate::Guard::extend`].
    ///
    /// # Errors
    /// The same.
    ///
    /// # Panics
    /// In a task of a tokio runtime.
    pub fn extend(&self) -> Result<Duration, NotExtended> {
        self.background.runtime.block_on(self.guard.extend())
    }

    /// As [`crate::Guard::extend_to`].
    ///
    /// # Errors
    /// The same.
    ///
    /// # Panics
    /// In a task of a tokio runtime.
    pub fn extend_to(&self, ttl: Duration) -> Result<Duration, NotExtended> {
        self.background.runtime.block_on(self.guard.extend_to(ttl))
    }

    /// As [`crate::Guard::release`].
    ///
    /// # Panics
    /// In a task of a tokio runtime.
    #[expect(
        clippy::must_use_candidate,
        reason = "the lock is released, whatever is done with the result"
    )]
    pub fn release(self) -> Released {
        let Self { guard, background } = self;
        background.runtime.block_on(guard.release())
    }
}

impl Deref for Guard {
    type Target = crate::guard::Guard;

    fn deref(&self) -> &crate::guard::Guard {
        &self.guard
    }
}
