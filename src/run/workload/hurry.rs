use tokio_util::sync::CancellationToken;

/// Tells requests that the run must end. Those that wait for a lock can be given up alone, while work under a lock goes on.
#[derive(Debug, Clone)]
pub struct Hurry {
    /// Gives up all simulated work, and the requests of `waiting`.
    pub all: CancellationToken,
    /// Gives up the requests that wait for a lock, and those that have not begun.
    pub waiting: CancellationToken,
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
