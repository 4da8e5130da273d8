//! Which of the locks that are held a node does not have.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use crate::under_test::HeldLock;
use crate::workload::HeldLocks;
use lockstorm_base::monotonic_ns;
use lockstorm_judge::law::LostKeys;
use lockstorm_lab::{Kept, Lab, NodeName};

/// What a node lacks of an arm's locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lacks {
    /// Its locks that were held and should be there.
    pub held: usize,
    /// The tokens of those that are not there.
    pub lost: HashSet<Box<str>>,
    /// When the answer came.
    pub looked: Instant,
}

/// The held locks of an arm, for each app server.
pub(crate) type ArmLocks = (usize, Vec<Arc<HeldLocks>>);

/// What this node lacks of the locks of each arm that were asked for before `since` and should be on it; `None` if it does not answer.
pub(crate) async fn of_arms(
    lab: &Lab,
    node: NodeName,
    since: Instant,
    arms: &[ArmLocks],
    is_on_it: impl Fn(&HeldLock) -> bool + Sync,
) -> Vec<(usize, Option<Lacks>)> {
    let mut all: Vec<(usize, Vec<HeldLock>)> = Vec::new();
    for (arm, servers) in arms {
        let locks = servers.iter().flat_map(|held| held.now());
        let locks = locks.filter(|lock| lock.is_valid() && lock.asked() < since && is_on_it(lock));
        all.push((*arm, locks.collect()));
    }
    // It is asked once for all arms: on a busy machine each question takes its time.
    let locks = || all.iter().flat_map(|(_, locks)| locks);
    let keys: Vec<&str> = locks().map(HeldLock::key).collect();
    let kept = match keys.is_empty() {
        true => Some(Vec::new()),
        false => lab.kept(node, &keys).await,
    };
    let (looked, mut kept) = (Instant::now(), kept.map(Vec::into_iter));
    let lacks = |(arm, locks): (usize, Vec<HeldLock>)| {
        let kept = match &mut kept {
            _ if locks.is_empty() => Some(Vec::new()),
            Some(kept) => Some(kept.by_ref().take(locks.len()).collect()),
            None => None,
        };
        (arm, kept.map(|kept| lacks(&locks, kept, looked)))
    };
    all.into_iter().map(lacks).collect()
}

/// What a node lacks, for the judge.
pub(crate) fn lost_keys(lacks: Option<&Lacks>) -> LostKeys {
    lacks.map_or(LostKeys::Unknown, |lacks| LostKeys::Tokens {
        lost: lacks.lost.clone(),
        looked: monotonic_ns(lacks.looked),
    })
}

fn lacks(locks: &[HeldLock], kept: Vec<Kept>, looked: Instant) -> Lacks {
    // A lock that is still valid was not deleted by its holder before the look.
    let still = locks.iter().zip(kept).filter(|(lock, _)| lock.is_valid());
    let (mut held, mut lost) = (0, HashSet::new());
    for (lock, kept) in still {
        let has_it = match kept {
            Kept::Elsewhere => continue,
            Kept::Nothing => false,
            Kept::Value(value) => value == lock.token(),
        };
        held += 1;
        if !has_it {
            lost.insert(lock.token().into());
        }
    }
    Lacks { held, lost, looked }
}
