//! A trial after the load: whether every lock can be acquired.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::error::SwarmError;
use super::locks::Locks;
use super::plan::ServerPlan;
use super::serve::lock;
use crate::under_test::Lock;
use lockstorm_data::model::NoVote;
use lockstorm_data::scenario::{ArmSpec, LockNodes};
use lockstorm_lock::{AcquireOptions, Refusal};

/// How long a lock is tried that its nodes refuse for good: by now the first master is a replica, and the masters of a cluster are
/// never a quorum.
const REFUSED_FOR_GOOD: Duration = Duration::from_secs(1);
/// How many locks of an arm are tried at once.
const AT_ONCE: usize = 32;
/// The pause before a lock that was not granted is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// What became of the locks of an arm.
#[derive(Debug, Default)]
pub struct Tried {
    /// How many could not be acquired.
    pub failed: u64,
    /// Why the lock nodes gave no votes to one of these, if they did not say that somebody holds it.
    pub refused: Vec<NoVote>,
}

/// How long locks are tried.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long one that somebody seems to hold is tried.
    pub taken: Duration,
    /// How long one is tried that the nodes refuse, or don't answer for.
    pub refused: Duration,
}

/// Tries to acquire each of these locks in each arm, over connections of its own, again and again until it has had it once or
/// the time is over. Returns what became of them, for each arm; `None` for an arm without lock nodes.
///
/// # Errors
/// The plan has no node for an arm.
pub async fn stuck_locks(
    plan: &ServerPlan,
    names: &[String],
    patience: Patience,
) -> Result<Vec<Option<Tried>>, SwarmError> {
    let locks = Locks::connect(plan).await;
    let began = Instant::now();
    let mut trials = Vec::new();
    for arm in &plan.arms {
        let lock = lock(plan, arm, &locks, plan.scenario.seed).await?;
        let uses_nodes = arm.spec.lock.uses_nodes();
        trials.push(uses_nodes.then(|| try_all(&lock, &arm.spec, &plan.key_prefix, names, (began, patience))));
    }
    let mut stuck = Vec::new();
    for trial in trials {
        stuck.push(match trial {
            Some(mut locks) => Some(all(&mut locks).await),
            None => None,
        });
    }
    Ok(stuck)
}

/// Starts to try all of these locks. Each task tells why it did not have its lock, if that is so.
fn try_all(
    lock: &Lock,
    spec: &ArmSpec,
    prefix: &str,
    names: &[String],
    (began, patience): (Instant, Patience),
) -> JoinSet<Option<Refusal>> {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let refused = match spec.nodes() {
        LockNodes::FirstMaster | LockNodes::ClusterMasters => patience.refused.min(REFUSED_FOR_GOOD),
        _ => patience.refused,
    };
    let mut trials = JoinSet::new();
    for name in names {
        let (lock, key, turns) = (lock.clone(), spec.key(prefix, name), Arc::clone(&turns));
        let options = AcquireOptions::new()
            .ttl(spec.ttl)
            .timeout(spec.timeout)
            .reply_timeout(spec.node_timeout);
        trials.spawn(async move {
            loop {
                // Nobody closes it. A lock that is taken must not keep others waiting, so the turn ends with the attempt.
                let turn = turns.acquire().await;
                let refusal = match lock.acquire(&key, &options).await {
                    Ok(guard) => {
                        guard.release().await;
                        return None;
                    }
                    Err(refusal) => refusal,
                };
                drop(turn);
                let patience = match refusal {
                    Refusal::Contended | Refusal::Expired { .. } => patience.taken,
                    _ => refused,
                };
                if began.elapsed() >= patience {
                    return Some(refusal);
                }
                sleep(PAUSE).await;
            }
        });
    }
    trials
}

async fn all(trials: &mut JoinSet<Option<Refusal>>) -> Tried {
    let mut tried = Tried::default();
    while let Some(ended) = trials.join_next().await {
        match ended {
            Ok(None) => {}
            Ok(Some(refusal)) => {
                tried.failed += 1;
                if tried.refused.is_empty() {
                    tried.refused = NoVote::all_of(refusal.causes()).collect();
                }
            }
            Err(_) => tried.failed += 1,
        }
    }
    tried
}
