//! A trial after the load: whether every lock can be had.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::error::SwarmError;
use super::locks::Locks;
use super::plan::ServerPlan;
use crate::lock::{AcquireOptions, Lock};
use crate::model::Wait;
use crate::scenario::ArmSpec;

/// How many locks of an arm are tried at once.
const AT_ONCE: usize = 32;
/// The pause before a lock that was not to be had is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// Tries to acquire each of these locks in each arm, over connections of its own, again and again until it has had it once or
/// the time is over: `within` from now. Returns how many could not be had, for each arm; `None` for an arm without lock nodes.
///
/// # Errors
/// The plan has no node for an arm.
pub async fn stuck_locks(
    plan: &ServerPlan,
    names: &[String],
    within: Duration,
) -> Result<Vec<Option<u64>>, SwarmError> {
    let locks = Locks::connect(plan).await;
    let until = Instant::now() + within;
    let mut trials = Vec::new();
    for arm in &plan.arms {
        let lock = locks.of(&arm.spec, plan.seed)?;
        let uses_nodes = arm.spec.lock.uses_nodes();
        trials.push(uses_nodes.then(|| try_all(&lock, &arm.spec, &plan.key_prefix, names, until)));
    }
    let mut stuck = Vec::new();
    for trial in trials {
        stuck.push(match trial {
            Some(mut locks) => Some(count_failed(&mut locks).await),
            None => None,
        });
    }
    Ok(stuck)
}

/// Starts to try all of these locks. Each task tells whether it had its lock.
fn try_all(lock: &Lock, spec: &ArmSpec, prefix: &str, names: &[String], until: Instant) -> JoinSet<bool> {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut trials = JoinSet::new();
    for name in names {
        let (lock, key, turns) = (lock.clone(), spec.key(prefix, name), Arc::clone(&turns));
        let options = AcquireOptions {
            ttl: spec.ttl,
            renew: None,
            wait: Wait::FailFast,
            timeout: spec.timeout,
            reply_timeout: Some(spec.node_timeout),
            lifetime: None,
            repair: false,
        };
        trials.spawn(async move {
            loop {
                // Nobody closes it. A lock that is taken must not keep others waiting, so the turn ends with the attempt.
                let turn = turns.acquire().await;
                if let Ok(guard) = lock.acquire(&key, &options).await {
                    guard.release().await;
                    return true;
                }
                drop(turn);
                if Instant::now() >= until {
                    return false;
                }
                sleep(PAUSE).await;
            }
        });
    }
    trials
}

async fn count_failed(trials: &mut JoinSet<bool>) -> u64 {
    let mut failed = 0;
    while let Some(had) = trials.join_next().await {
        failed += u64::from(!had.unwrap_or(false));
    }
    failed
}
