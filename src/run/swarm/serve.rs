//! What runs on the thread of an app server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::control::ServerCommand;
use super::error::SwarmError;
use super::locks::Locks;
use super::plan::{ArmPlan, ArmState, ServerPlan};
use super::worker::{self, Crew, mix};
use crate::under_test::{Lock, Site};
use crate::workload::{HeldLocks, Tools, Workload, connect_cache};
use lockstorm_base::timer::Timer;
use lockstorm_lock::Gauges;

/// Connects, reports that, and follows commands until it is told to end. Returns when that was: from then on no task of this
/// thread runs, so nothing is sent any more.
pub(super) async fn serve(
    plan: ServerPlan,
    inbox: mpsc::UnboundedReceiver<ServerCommand>,
    report: oneshot::Sender<Result<Vec<ArmState>, SwarmError>>,
) -> Instant {
    let after = TaskTracker::new();
    let (crews, states) = match crews(&plan, &after).await {
        Ok((crews, states)) => {
            let _ = report.send(Ok(states.clone()));
            (crews, states)
        }
        Err(error) => {
            drop(report.send(Err(error)));
            return Instant::now();
        }
    };
    follow(&plan, &crews, inbox, after).await;
    let end = Instant::now();
    // No other task of this thread runs again, so nothing is released any more.
    for state in &states {
        state.held_locks.orphan(end);
    }
    end
}

/// Follows commands until it is told to end, and all workers have ended, or is killed.
async fn follow(
    plan: &ServerPlan,
    crews: &[Arc<Crew>],
    mut inbox: mpsc::UnboundedReceiver<ServerCommand>,
    after: TaskTracker,
) {
    let mut workers: Vec<Vec<JoinHandle<()>>> = crews.iter().map(|_| Vec::new()).collect();
    while let Some(command) = inbox.recv().await {
        match command {
            ServerCommand::Begin => {
                let first = |number| start_delay(plan, number);
                staff(crews, &mut workers, plan.scenario.swarm.workers, first);
            }
            ServerCommand::Workers(wanted) => staff(crews, &mut workers, wanted, |_| Duration::ZERO),
            ServerCommand::Pause { blocked, gate, resumed } => {
                let _ = blocked.send(Instant::now());
                // This blocks the thread on purpose: timers, renewals and every task of this app server stop.
                if gate.recv().is_err() {
                    return;
                }
                plan.stalls.goes_on();
                let _ = resumed.send(Instant::now());
            }
            ServerCommand::Kill => return,
            ServerCommand::Drain => break,
        }
    }
    let all = async {
        for worker in workers.into_iter().flatten() {
            let _ = worker.await;
        }
        // Votes that are still outstanding; this takes at most a node timeout.
        after.close();
        after.wait().await;
    };
    tokio::select! {
        () = all => {}
        // A kill, the only command that still matters, or the run is gone.
        _ = inbox.recv() => {}
    }
}

/// When worker `number` starts within the ramp of a closed loop.
fn start_delay(plan: &ServerPlan, number: usize) -> Duration {
    let swarm = &plan.scenario.swarm;
    let all = swarm.workers * swarm.servers;
    let rank = number * swarm.servers + plan.id.index();
    swarm.ramp.mul_f64(rank as f64 / all as f64)
}

/// Brings each arm to `wanted` workers.
fn staff(crews: &[Arc<Crew>], workers: &mut [Vec<JoinHandle<()>>], wanted: usize, delay: impl Fn(usize) -> Duration) {
    for (crew, workers) in crews.iter().zip(workers) {
        crew.wanted.store(wanted, Ordering::Relaxed);
        for number in 0..wanted {
            match workers.get_mut(number) {
                Some(worker) if !worker.is_finished() => {}
                Some(worker) => *worker = worker::spawn(crew, number, delay(number)),
                None => workers.push(worker::spawn(crew, number, delay(number))),
            }
        }
    }
}

/// Notes the attempts at a lock that fail.
fn note_refusals(gauges: &Gauges, held_locks: &Arc<HeldLocks>) {
    let held_locks = Arc::clone(held_locks);
    // These gauges are ours alone, so no other hook is set. Our keys are texts.
    gauges.on_refused_attempt(move |key, asked, outcome| {
        held_locks.not_granted(str::from_utf8(key).unwrap_or_default(), asked, outcome);
    });
}

/// The lock of an arm: the scenario's, or the other one that it has.
pub(super) async fn lock(plan: &ServerPlan, arm: &ArmPlan, locks: &Locks, seed: u64) -> Result<Lock, SwarmError> {
    let Some(other) = &arm.other else {
        return locks.of(&arm.spec, seed).map(Lock::Engine);
    };
    let site = Site {
        server: plan.id,
        nodes: plan.nodes.iter().map(|(_, address)| address.clone()).collect(),
        seed,
    };
    let failed = |why| SwarmError::Lock(plan.id, arm.spec.name.clone(), why);
    other.connect(site).await.map_err(failed)
}

async fn crews(plan: &ServerPlan, after: &TaskTracker) -> Result<(Vec<Arc<Crew>>, Vec<ArmState>), SwarmError> {
    let timer = Timer::start();
    let (watched, its_timer) = (Arc::clone(&plan.stalls), timer.clone());
    // It ends with the runtime.
    tokio::spawn(async move { watched.watch(&its_timer).await });
    let locks = Locks::connect(plan).await;
    let (mut crews, mut states) = (Vec::new(), Vec::new());
    for (index, arm) in plan.arms.iter().enumerate() {
        let seed = mix(mix(plan.scenario.seed, plan.id.0 as u64), index as u64);
        let lock = lock(plan, arm, &locks, seed).await?;
        let store = arm
            .database
            .open(plan.scenario.database.pool)
            .await
            .map_err(|error| SwarmError::Store(plan.id, arm.spec.name.clone(), error))?
            .timed_by(timer.clone());
        let cache = connect_cache(plan.cache.clone(), index)
            .await
            .map_err(|error| SwarmError::Cache(plan.id, error))?;
        // The warm-up is counted apart.
        let warm_up = lock.counted_by(Arc::new(Gauges::default()));
        let gauges = [warm_up.gauges(), lock.gauges()];
        let held_locks = Arc::new(HeldLocks::new(plan.history));
        for gauges in &gauges {
            note_refusals(gauges, &held_locks);
        }
        let state = ArmState {
            gauges,
            is_other: matches!(lock, Lock::Other(_)),
            active: Arc::default(),
            waiting: Arc::default(),
            held_locks,
        };
        let hurry = plan.hurry.child();
        let tools = Tools {
            arm: arm.spec.clone(),
            key_prefix: Arc::clone(&plan.key_prefix),
            locks: [warm_up, lock],
            store,
            cache,
            waiting: state.waiting.clone(),
            held_locks: state.held_locks.clone(),
            live_settings: plan.live_settings.clone(),
            stalls: Arc::clone(&plan.stalls),
            timer: timer.clone(),
            hurry: hurry.clone(),
            after: after.clone(),
            server: plan.id,
        };
        let workload = Workload::new(&plan.scenario.workload, &plan.scenario.database, tools);
        let workload = workload.ok_or(SwarmError::Reported(plan.id))?;
        crews.push(Arc::new(Crew {
            workload,
            intake: arm.intake.clone(),
            recorder: arm.recorder.clone(),
            timer: timer.clone(),
            hurry,
            wanted: AtomicUsize::new(0),
            active: state.active.clone(),
            seed,
        }));
        states.push(state);
    }
    Ok((crews, states))
}
