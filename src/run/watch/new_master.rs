//! A node that has become a master, and what it lacks.

use std::sync::Arc;
use std::time::Instant;

use crate::workload::HeldLocks;
use lockstorm_lab::{Kept, Lab, NodeName};
use lockstorm_lock::HeldLock;

/// A replica that has become a master.
#[derive(Debug)]
pub(crate) struct NewMaster {
    pub node: NodeName,
    /// The nodes that must not grant any more what it grants now.
    pub others: Vec<NodeName>,
    /// When it accepted writes.
    pub writable: Instant,
    /// What it lacks, for each arm whose lock it may keep, by its position; `None` if it could not be asked: it was gone again,
    /// or refused.
    pub lacks: Vec<(usize, Option<Lacks>)>,
}

/// What a new master lacks of an arm's locks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lacks {
    /// Its locks that were held and should be there.
    pub held: usize,
    /// How many of these are not there.
    pub lost: usize,
}

/// The held locks of an arm, for each app server.
pub(crate) type ArmLocks = (usize, Vec<Arc<HeldLocks>>);

impl NewMaster {
    /// A node that accepts writes now: looks up at once what it has of the locks that are held.
    pub(crate) async fn of(lab: &Lab, node: NodeName, others: Vec<NodeName>, arms: &[ArmLocks]) -> Self {
        let writable = Instant::now();
        let mut all = Vec::new();
        for (arm, servers) in arms {
            all.push((*arm, lacks(lab, node, writable, servers).await));
        }
        Self {
            node,
            others,
            writable,
            lacks: all,
        }
    }
}

/// What this node, writable since then, lacks of an arm's locks that were asked for before; `None` if it does not answer.
async fn lacks(lab: &Lab, node: NodeName, since: Instant, servers: &[Arc<HeldLocks>]) -> Option<Lacks> {
    let all = servers.iter().flat_map(|held| held.now());
    let locks: Vec<HeldLock> = all.filter(|lock| lock.is_valid() && lock.asked() < since).collect();
    let keys: Vec<&str> = locks.iter().map(HeldLock::key).collect();
    let kept = lab.kept(node, &keys).await?;
    // A lock that is still valid was not deleted by its holder before the look.
    let still = locks.iter().zip(kept).filter(|(lock, _)| lock.is_valid());
    let (mut held, mut lost) = (0, 0);
    for (lock, kept) in still {
        let has_it = match kept {
            Kept::Elsewhere => continue,
            Kept::Nothing => false,
            Kept::Value(value) => value == lock.token(),
        };
        held += 1;
        lost += usize::from(!has_it);
    }
    Some(Lacks { held, lost })
}

/// For the tests of those who find new masters.
#[cfg(test)]
pub(crate) mod testing {
    use std::ops::Range;
    use std::time::Duration;

    use tokio::time::sleep;

    use lockstorm_lock::{AcquireOptions, Guard, Lock, Nodes};

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
        let options = AcquireOptions {
            ttl: Duration::from_mins(5),
            ..AcquireOptions::default()
        };
        let mut guards = Vec::new();
        for name in names {
            guards.push(loop {
                if let Ok(guard) = lock.acquire(&format!("key:{name}"), &options).await {
                    break guard;
                }
                sleep(Duration::from_millis(10)).await;
            });
        }
        guards
    }
}
