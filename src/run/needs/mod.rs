//! What a scenario will need of this machine: files, threads, memory, disk. This is checked before anything is started.
//!
//! [`of`] estimates and is pure; [`Machine::look`] reads what is available; [`compare`] compares the two. The numbers
//! behind the estimates were measured, and are in one table, `cost`.

mod cost;
mod files;
mod limit;
mod machine;
mod memory;
mod orders;
mod room;
mod threads;

pub use limit::raise;
pub use machine::{Machine, free_disk};
use orders::Pace;
pub use room::{Room, compare};

use crate::scenario::Scenario;

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
    const fn grows(&self) -> bool {
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

/// Connections of one app server and arm to the database: a pool opens eight at once, and then as many as its workers
/// need.
fn pool(scenario: &Scenario) -> u64 {
    let asked = u64::max(scenario.swarm.workers as u64, cost::POOL_AT_ONCE);
    u64::from(scenario.database.pool).min(asked)
}

/// Whether the arms are SQLite files.
fn is_sqlite(scenario: &Scenario) -> bool {
    scenario.database.url.is_sqlite()
}

/// How many pairs of app server and arm there are.
fn crews(scenario: &Scenario) -> u64 {
    (scenario.swarm.servers * scenario.arms.len()) as u64
}
