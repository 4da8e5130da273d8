//! A node that has become a master, and what it lacks.

use std::time::Instant;

use super::lacks::{ArmLocks, Lacks, of_arms};
use lockstorm_lab::{Lab, NodeName};

/// A replica that has become a master.
#[derive(Debug)]
pub(crate) struct NewMaster {
    pub node: NodeName,
    /// The nodes that must not grant any more what it grants now.
    pub others: Vec<NodeName>,
    /// When it was last seen as a replica.
    pub replica: Instant,
    /// When it accepted writes.
    pub writable: Instant,
    /// What it lacks, for each arm whose lock it may keep, by its position; `None` if it could not be asked: it was gone again,
    /// or refused.
    pub lacks: Vec<(usize, Option<Lacks>)>,
}

impl NewMaster {
    /// A node that accepts writes now: looks up at once what it has of the locks that are held.
    pub(crate) async fn of(
        lab: &Lab,
        node: NodeName,
        others: Vec<NodeName>,
        replica: Instant,
        arms: &[ArmLocks],
    ) -> Self {
        let writable = Instant::now();
        let lacks = of_arms(lab, node, writable, arms, |_| true).await;
        Self {
            node,
            others,
            replica,
            writable,
            lacks,
        }
    }
}

/// For the tests of those who find new masters.
#[cfg(test)]
pub(crate) mod testing {
    use std::ops::Range;
    use std::time::Duration;

    use tokio::time::sleep;

    use crate::under_test::Guard;
    use lockstorm_lock::{AcquireOptions, Lock, Nodes};

    /// For clients of servers that a slow machine runs.
    pub fn patient() -> redis::AsyncConnectionConfig {
        let limit = Some(Duration::from_secs(30));
        redis::AsyncConnectionConfig::new()
            .set_connection_timeout(limit)
            .set_response_timeout(limit)
    }

    /// Acquires so many more locks, for long.
    pub async fn acquire(nodes: &Nodes, names: Range<u32>) -> Vec<Guard> {
        let lock = Lock::single(nodes, 0, 1);
        let options = AcquireOptions::new().ttl(Duration::from_mins(5));
        let mut guards = Vec::new();
        for name in names {
            guards.push(loop {
                if let Ok(guard) = lock.acquire(&format!("key:{name}"), &options).await {
                    break Guard::Engine(guard);
                }
                sleep(Duration::from_millis(10)).await;
            });
        }
        guards
    }
}
