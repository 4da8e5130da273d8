//! What a scenario will need of this machine, before anything of it is started: files, threads, memory, disk.
//!
//! [`of`] estimates, and is pure; [`Machine::look`] reads what there is; [`compare`] holds one against the other. The numbers
//! that the estimates are made of were measured, and stand in one table, `cost`.

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
    /// Files and sockets that are open at once in this program.
    pub files: u64,
    /// Connections to the server of the lab that has most of them.
    pub clients: u64,
    /// Threads, those of the lab's servers included.
    pub threads: u64,
    /// Memory in bytes, the lab's servers included.
    pub memory: Amount,
    /// The run's directory in bytes.
    pub disk: Amount,
}

/// What grows while a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// From the start on, and at a `rate` what that makes of it by the end: it is sure to be needed.
    pub sure: u64,
    /// At the end, if a closed loop is as fast as its workers can be.
    pub most: u64,
}

impl Amount {
    fn new(of: impl Fn(Pace) -> u64) -> Self {
        let [sure, most] = [Pace::Sure, Pace::Most].map(of);
        Self { sure, most }
    }

    /// Whether most of it comes with time.
    const fn grows(&self) -> bool {
        self.most > self.sure.saturating_add(self.sure / 2)
    }
}

/// What a run of this scenario needs: not less than it will use, and not much more.
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

/// Connections to the database of one app server's arm: a pool opens eight at once, and then what its workers ask for.
fn pool(scenario: &Scenario) -> u64 {
    let asked = u64::max(scenario.swarm.workers as u64, cost::POOL_AT_ONCE);
    u64::from(scenario.database.pool).min(asked)
}

/// Whether the arms are SQLite files.
fn is_sqlite(scenario: &Scenario) -> bool {
    scenario.database.url.is_sqlite()
}

/// Pairs of an app server and an arm.
fn crews(scenario: &Scenario) -> u64 {
    (scenario.swarm.servers * scenario.arms.len()) as u64
}
