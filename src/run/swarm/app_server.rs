use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};

use super::control::{Control, ServerCommand};
use super::error::SwarmError;
use super::plan::{ArmState, ServerPlan};
use super::serve::serve;
use crate::workload::{HeldLocks, Stalls};
use lockstorm_data::metrics::RoundTrips;
use lockstorm_data::model::{Action, Condition, ServerId};
use lockstorm_lock::Gauges;

/// A group of workers that lives and dies together: an OS thread with a single-threaded runtime, connections and
/// in-process mutexes of its own. Its arms have the positions that they have in its plan.
#[derive(Debug)]
pub struct AppServer {
    pub id: ServerId,
    /// Its commands and faults, also for tasks that outlive a look at it.
    pub control: Arc<Control>,
    arms: Vec<ArmState>,
    /// How long its lock nodes took to answer.
    pub round_trips: Arc<RoundTrips>,
    stalls: Arc<Stalls>,
}

impl AppServer {
    /// Starts the thread and waits until it is connected. No worker begins before [`AppServer::begin`].
    ///
    /// # Errors
    /// [`SwarmError`] if the thread, the database or the cache is not available. Missing lock nodes are not an error.
    pub async fn start(plan: ServerPlan) -> Result<Self, SwarmError> {
        let id = plan.id;
        let (round_trips, stalls) = (Arc::clone(&plan.round_trips), Arc::clone(&plan.stalls));
        let (commands, inbox) = mpsc::unbounded_channel();
        let (report, ready) = oneshot::channel();
        let (at_end, ended) = watch::channel(None);
        std::thread::Builder::new()
            .name(format!("app-server-{}", id.0))
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let end = match runtime {
                    Ok(runtime) => {
                        let end = runtime.block_on(serve(plan, inbox, report));
                        // Dropped without waiting: everything that is under way on this app server is gone after this.
                        runtime.shutdown_background();
                        end
                    }
                    Err(error) => {
                        drop(report.send(Err(SwarmError::Thread(id, error))));
                        Instant::now()
                    }
                };
                // Reported once the runtime is gone, which proves it; but the last task ran before.
                let _ = at_end.send(Some(end));
            })
            .map_err(|error| SwarmError::Thread(id, error))?;
        let arms = ready.await.map_err(|_| SwarmError::Ended(id))??;
        Ok(Self {
            id,
            control: Arc::new(Control::new(id, commands, ended)),
            arms,
            round_trips,
            stalls,
        })
    }

    /// Whether it was killed.
    pub fn is_dead(&self) -> bool {
        self.control.conditions().has(Condition::Down)
    }

    /// Locks held by workers of this arm, and how many of them are held with fewer votes than there are nodes.
    pub fn held(&self, arm: usize) -> (usize, usize) {
        if self.is_dead() {
            return (0, 0);
        }
        if self.arms[arm].is_other {
            return (self.arms[arm].held_locks.count(), 0);
        }
        let [warm_up, measured] = &self.arms[arm].gauges;
        (
            warm_up.holding() + measured.holding(),
            warm_up.partial() + measured.partial(),
        )
    }

    /// How long its thread has stood still so far although nobody paused it.
    pub fn stood_still(&self) -> Duration {
        self.stalls.over()
    }

    /// What this arm's lock did for measured requests.
    pub fn gauges(&self, arm: usize) -> &Gauges {
        &self.arms[arm].gauges[1]
    }

    /// Attempts at this arm's lock that failed because nodes were missing, since the app server started.
    pub fn failed_attempts(&self, arm: usize) -> u64 {
        self.arms[arm].gauges.iter().map(|gauges| gauges.failed()).sum()
    }

    /// When the oldest acquire of this arm began that has not ended yet; `None` if the app server is dead.
    pub fn oldest_wait(&self, arm: usize) -> Option<Instant> {
        let waiting = &self.arms[arm].waiting;
        waiting.oldest().filter(|_| !self.is_dead())
    }

    /// The locks that workers of this arm hold.
    pub fn held_locks(&self, arm: usize) -> Arc<HeldLocks> {
        Arc::clone(&self.arms[arm].held_locks)
    }

    /// The keys of the locks that workers of this arm held when it died; empty before.
    pub fn orphans(&self, arm: usize) -> Vec<String> {
        match self.is_dead() {
            true => self.arms[arm].held_locks.orphans(),
            false => Vec::new(),
        }
    }

    /// Workers of this arm that have not ended.
    pub fn active(&self, arm: usize) -> usize {
        self.arms[arm].active.load(Ordering::Relaxed)
    }

    /// Lets the workers begin.
    pub fn begin(&self) {
        self.control.send(ServerCommand::Begin);
    }

    /// Changes the number of workers for each arm.
    pub fn set_workers(&self, workers: usize) {
        self.control.send(ServerCommand::Workers(workers));
    }

    /// Lets the thread end once all workers have (the load must have ended), and returns at once; see
    /// [`AppServer::has_ended`].
    pub fn drain(&self) {
        // If it is paused, it goes on. A pause that was ordered just before may not have taken effect yet.
        let control = Arc::clone(&self.control);
        tokio::spawn(async move { control.apply(Action::Undo(Condition::Paused)).await });
        self.control.send(ServerCommand::Drain);
    }

    /// Drops the runtime with everything that is still under way, while it drains. This is not a fault, so it still counts
    /// as up.
    pub fn abandon(&self) {
        self.control.send(ServerCommand::Kill);
    }

    /// Whether its thread has ended.
    pub fn has_ended(&self) -> bool {
        // A thread that panicked has sent nothing, and its sender is gone.
        self.control.ended.borrow().is_some() || self.control.ended.has_changed().is_err()
    }
}
