/// A holder's belief that it holds a lock.
#[derive(Debug, Clone)]
pub(super) struct Belief {
    pub(super) token: u64,
    pub(super) app: usize,
    /// The end of the validity in true time, if nothing else ends the belief.
    pub(super) until: u64,
    /// Its loss was signalled.
    pub(super) signalled: bool,
    /// Its app server died, so nothing is signalled any more.
    pub(super) orphaned: bool,
    /// When its app server died, if nobody else has got the lock since.
    pub(super) died: Option<u64>,
    /// Somebody else got the lock while the app server was frozen.
    pub(super) overtaken: bool,
}

/// A key that a node forgot, with all its other keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forgotten {
    pub(super) node: usize,
    pub(super) key: usize,
    pub(super) token: u64,
    /// When it would have expired, in milliseconds of the node's clock.
    pub(super) expires: u64,
}

impl Belief {
    pub(super) const fn is_over(&self, now: u64) -> bool {
        self.until <= now
    }
}
