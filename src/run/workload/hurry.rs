use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// Tells requests that the run must end. Those that wait for a lock can be given up alone, while work under a lock goes on.
#[derive(Debug, Clone)]
pub struct Hurry {
    all: CancellationToken,
    waiting: CancellationToken,
}

impl Hurry {
    /// One that follows this one, for many requests that ask often.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            all: self.all.child_token(),
            waiting: self.waiting.child_token(),
        }
    }

    /// Gives up the requests that wait for a lock, and those that have not begun.
    pub fn give_up_waiting(&self) {
        self.waiting.cancel();
    }

    /// Gives up these and all simulated work.
    pub fn give_up_all(&self) {
        self.all.cancel();
    }

    /// Whether all work is given up.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.all.is_cancelled()
    }

    /// Resolves once waiting requests are given up.
    pub fn waiting(&self) -> WaitForCancellationFuture<'_> {
        self.waiting.cancelled()
    }

    /// Resolves once all work is given up.
    pub fn all(&self) -> WaitForCancellationFuture<'_> {
        self.all.cancelled()
    }
}

/// Nothing is given up yet.
impl Default for Hurry {
    fn default() -> Self {
        let all = CancellationToken::new();
        Self {
            waiting: all.child_token(),
            all,
        }
    }
}
