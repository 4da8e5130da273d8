use std::time::Duration;

/// Times that are kept one by one, for those who want to compare distributions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// How long each acquire took that was granted, waiting included, by the clock of its app server.
    pub acquires: Vec<Duration>,
    /// How long each section took, from the grant to the release, by the same clock.
    pub holds: Vec<Duration>,
    /// From the death of each app server that held a lock until somebody got that lock, in true time. Locks that nobody
    /// has got since are left out.
    pub takeovers: Vec<Duration>,
}

impl Samples {
    /// Adds those of another world.
    pub fn add(&mut self, other: Self) {
        self.acquires.extend(other.acquires);
        self.holds.extend(other.holds);
        self.takeovers.extend(other.takeovers);
    }
}
