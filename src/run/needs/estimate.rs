//! What a run of a scenario needs: an estimate from its text.

use super::orders::Pace;
use super::{files, memory, threads};
use lockstorm_data::scenario::Scenario;

/// What a run of a scenario needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Files and sockets that this program has open at once.
    pub files: u64,
    /// Connections to that server of the lab that has the most.
    pub clients: u64,
    /// Threads, those of the lab's servers included.
    pub threads: u64,
    /// Memory in bytes, the lab's servers included.
    pub memory: Amount,
    /// The run's directory in bytes.
    pub disk: Amount,
}

/// A need that may grow while a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// What is needed for certain: from the start, or with a `rate` at the end.
    pub sure: u64,
    /// What is needed at the end if a closed loop runs as fast as its workers can.
    pub most: u64,
}

impl Amount {
    fn new(of: impl Fn(Pace) -> u64) -> Self {
        let [sure, most] = [Pace::Sure, Pace::Most].map(of);
        Self { sure, most }
    }

    /// Whether most of it is added during the run.
    pub(super) const fn grows(&self) -> bool {
        self.most > self.sure.saturating_add(self.sure / 2)
    }
}

/// What a run of this scenario needs: an upper bound, but not far above what it will use.
#[must_use]
pub fn of(scenario: &Scenario) -> Needs {
    Needs {
        files: files::open(scenario),
        clients: files::clients(scenario),
        threads: threads::all(scenario),
        memory: Amount::new(|pace| memory::all(scenario, pace)),
        disk: Amount::new(|pace| memory::disk(scenario, pace)),
    }
}
