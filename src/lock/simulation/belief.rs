/// That somebody holds a lock, as far as that one knows.
#[derive(Debug, Clone)]
pub(super) struct Belief {
    pub(super) token: u64,
    pub(super) app: usize,
    /// The end of its validity in true time, if nothing else ends it.
    pub(super) until: u64,
    /// Its loss was signalled.
    pub(super) signalled: bool,
    /// Its app server died: nobody signals anything.
    pub(super) buried: bool,
    /// Somebody else got the lock while its app server was frozen.
    pub(super) overtaken: bool,
}

/// A key that a node has lost with all others.
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
