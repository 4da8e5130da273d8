use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc as gate;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::intake::Intake;
use super::load::Load;
use super::serve::serve;
use crate::lock::{Gauges, NodeAddress};
use crate::metrics::{Recorder, ServerStatus};
use crate::model::ServerId;
use crate::scenario::{ArmSpec, DatabaseSpec, WorkloadSpec};
use crate::store::{Place, StoreError};
use crate::workload::{CacheError, Dials, Waiting};

/// What an app server is made of.
#[derive(Debug, Clone)]
pub struct ServerPlan {
    /// Which one it is.
    pub id: ServerId,
    /// Workers for each arm.
    pub workers: usize,
    /// How many app servers there are; workers start over the ramp in turn.
    pub servers: usize,
    /// The time over which the workers start.
    pub ramp: Duration,
    /// The lock nodes, by host.
    pub nodes: Vec<NodeAddress>,
    /// The cache node.
    pub cache: NodeAddress,
    /// What the workers do.
    pub workload: Arc<WorkloadSpec>,
    /// The database.
    pub database: Arc<DatabaseSpec>,
    /// The live knobs.
    pub dials: Arc<Dials>,
    /// The scenario's seed.
    pub seed: u64,
    /// When this is cancelled, acquires that wait are given up, and so is work that only lets simulated time pass.
    pub hurry: CancellationToken,
    /// The arms.
    pub arms: Vec<ArmPlan>,
}

/// One arm's part of it.
#[derive(Debug, Clone)]
pub struct ArmPlan {
    /// The arm.
    pub spec: Arc<ArmSpec>,
    /// Its tables.
    pub place: Arc<Place>,
    /// Where this app server counts.
    pub recorder: Arc<Recorder>,
    /// Where its workers get their requests from.
    intake: Arc<Intake>,
}

impl ArmPlan {
    /// The part of app server `server` in arm `arm` of the load; both count from 0.
    #[must_use]
    pub fn new(
        spec: Arc<ArmSpec>,
        place: Arc<Place>,
        recorder: Arc<Recorder>,
        load: &Load,
        [server, arm]: [usize; 2],
    ) -> Self {
        Self {
            spec,
            place,
            recorder,
            intake: load.intake(server, arm),
        }
    }

    pub(super) const fn intake(&self) -> &Arc<Intake> {
        &self.intake
    }
}

/// Why an app server could not start or be changed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum SwarmError {
    #[error("{0}: its thread could not start: {1}")]
    Thread(ServerId, std::io::Error),
    #[error("the thread that deals requests could not start: {0}")]
    Dealer(std::io::Error),
    #[error("{0}: the database of arm \"{1}\": {2}")]
    Store(ServerId, String, StoreError),
    #[error("{0}: {1}")]
    Cache(ServerId, CacheError),
    #[error("{0} is {1}")]
    State(ServerId, &'static str),
    #[error("{0} ended by itself; this is a bug")]
    Ended(ServerId),
}

/// A group of workers that lives and dies together: an OS thread with a single-threaded runtime, connections and
/// in-process mutexes of its own.
#[derive(Debug)]
pub struct AppServer {
    id: ServerId,
    orders: mpsc::UnboundedSender<Order>,
    ended: Option<oneshot::Receiver<Instant>>,
    status: ServerStatus,
    since: Instant,
    pause: Option<Pause>,
    arms: Vec<ArmState>,
}

/// What the run can see of one arm on one app server.
#[derive(Debug, Clone)]
pub(super) struct ArmState {
    /// Of its lock, for requests of the warm-up and for measured ones.
    pub gauges: [Arc<Gauges>; 2],
    pub active: Arc<AtomicUsize>,
    pub waiting: Arc<Waiting>,
}

#[derive(Debug)]
struct Pause {
    /// Dropping it, or sending on it, lets the thread go on.
    gate: gate::Sender<()>,
    resumed: oneshot::Receiver<Instant>,
}

/// What an app server's thread is told.
#[derive(Debug)]
pub(super) enum Order {
    Begin,
    Workers(usize),
    Pause {
        blocked: oneshot::Sender<Instant>,
        gate: gate::Receiver<()>,
        resumed: oneshot::Sender<Instant>,
    },
    Kill,
    /// End when all workers have.
    Drain,
}

impl AppServer {
    /// Starts the thread and waits until its connections stand. No worker begins before [`AppServer::begin`].
    ///
    /// # Errors
    /// [`SwarmError`] if the thread, the database or the cache can't be had; missing lock nodes are no error.
    pub async fn start(plan: ServerPlan) -> Result<Self, SwarmError> {
        let id = plan.id;
        let (orders, inbox) = mpsc::unbounded_channel();
        let (report, ready) = oneshot::channel();
        let (at_end, ended) = oneshot::channel();
        std::thread::Builder::new()
            .name(format!("app-server-{}", id.0))
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                match runtime {
                    Ok(runtime) => {
                        runtime.block_on(serve(plan, inbox, report));
                        // Dropped without waiting: what is under way on this app server ends here.
                        runtime.shutdown_background();
                    }
                    Err(error) => drop(report.send(Err(SwarmError::Thread(id, error)))),
                }
                let _ = at_end.send(Instant::now());
            })
            .map_err(|error| SwarmError::Thread(id, error))?;
        let arms = ready.await.map_err(|_| SwarmError::Ended(id))??;
        let (status, since) = (ServerStatus::Up, Instant::now());
        Ok(Self {
            id,
            orders,
            ended: Some(ended),
            status,
            since,
            pause: None,
            arms,
        })
    }

    /// Which one it is.
    #[must_use]
    pub const fn id(&self) -> ServerId {
        self.id
    }

    /// Its state and since when it has it.
    #[must_use]
    pub const fn status(&self) -> (ServerStatus, Instant) {
        (self.status, self.since)
    }

    /// Locks held by workers of this arm, and those of them held with fewer votes than there are nodes.
    #[must_use]
    pub fn held(&self, arm: usize) -> (usize, usize) {
        if self.status == ServerStatus::Killed {
            return (0, 0);
        }
        let gauges = self.arms.get(arm).map(|arm| &arm.gauges).into_iter().flatten();
        gauges.fold((0, 0), |(holding, partial), gauges| {
            (holding + gauges.holding(), partial + gauges.partial())
        })
    }

    /// What this arm's lock did for measured requests.
    #[must_use]
    pub fn gauges(&self, arm: usize) -> Option<&Gauges> {
        self.arms.get(arm).map(|arm| &*arm.gauges[1])
    }

    /// Attempts at this arm's lock that failed for lack of nodes, since the app server started.
    #[must_use]
    pub fn failed_attempts(&self, arm: usize) -> u64 {
        let gauges = self.arms.get(arm).map(|arm| &arm.gauges).into_iter().flatten();
        gauges.map(|gauges| gauges.failed()).sum()
    }

    /// When the oldest acquire of this arm began that has not ended yet; none of an app server that is dead.
    #[must_use]
    pub fn oldest_wait(&self, arm: usize) -> Option<Instant> {
        if self.status == ServerStatus::Killed {
            return None;
        }
        self.arms.get(arm)?.waiting.oldest()
    }

    /// Workers of this arm that have not ended.
    #[must_use]
    pub fn active(&self, arm: usize) -> usize {
        self.arms.get(arm).map_or(0, |arm| arm.active.load(Ordering::Relaxed))
    }

    /// Lets the workers begin.
    pub fn begin(&self) {
        self.order(Order::Begin);
    }

    /// Changes the number of workers for each arm.
    pub fn set_workers(&self, workers: usize) {
        self.order(Order::Workers(workers));
    }

    /// Blocks the thread; returns when it has stopped and since when.
    ///
    /// # Errors
    /// [`SwarmError::State`] unless it is up.
    pub async fn pause(&mut self) -> Result<Instant, SwarmError> {
        self.must_be(ServerStatus::Up)?;
        let (blocked, at) = oneshot::channel();
        let (open, gate) = gate::channel();
        let (resumed, back) = oneshot::channel();
        self.order(Order::Pause { blocked, gate, resumed });
        let at = at.await.map_err(|_| SwarmError::Ended(self.id))?;
        self.pause = Some(Pause {
            gate: open,
            resumed: back,
        });
        self.enter(ServerStatus::Paused, at);
        Ok(at)
    }

    /// Lets a paused thread go on; returns when it has.
    ///
    /// # Errors
    /// [`SwarmError::State`] unless it is paused.
    pub async fn resume(&mut self) -> Result<Instant, SwarmError> {
        self.must_be(ServerStatus::Paused)?;
        let pause = self.pause.take().ok_or(SwarmError::Ended(self.id))?;
        let _ = pause.gate.send(());
        let at = pause.resumed.await.map_err(|_| SwarmError::Ended(self.id))?;
        self.enter(ServerStatus::Up, at);
        Ok(at)
    }

    /// Drops the runtime with all that is on it; returns when it is gone. Nothing more is sent: its locks keep their TTL.
    ///
    /// # Errors
    /// [`SwarmError::State`] if it is dead already.
    pub async fn kill(&mut self) -> Result<Instant, SwarmError> {
        let ended = self.ended.take().ok_or(SwarmError::State(self.id, "dead already"))?;
        self.order(Order::Kill);
        // A paused thread finds the order once the gate is gone, before any other task runs.
        self.pause = None;
        let at = ended.await.map_err(|_| SwarmError::Ended(self.id))?;
        self.enter(ServerStatus::Killed, at);
        Ok(at)
    }

    /// Lets the thread end when all workers have (the load must have), and goes on at once; [`AppServer::has_ended`] tells.
    pub async fn drain(&mut self) {
        if self.status == ServerStatus::Paused {
            let _ = self.resume().await;
        }
        self.order(Order::Drain);
    }

    /// Drops the runtime with what is still under way, while it drains. It counts as up all the same: that is no fault.
    pub fn abandon(&self) {
        self.order(Order::Kill);
    }

    /// Whether its thread has ended.
    pub fn has_ended(&mut self) -> bool {
        if let Some(ended) = &mut self.ended
            && ended.try_recv() == Err(oneshot::error::TryRecvError::Empty)
        {
            return false;
        }
        self.ended = None;
        true
    }

    fn order(&self, order: Order) {
        // A dead app server takes no orders; its status says so.
        let _ = self.orders.send(order);
    }

    fn enter(&mut self, status: ServerStatus, at: Instant) {
        (self.status, self.since) = (status, at);
    }

    fn must_be(&self, status: ServerStatus) -> Result<(), SwarmError> {
        if self.status == status {
            return Ok(());
        }
        Err(SwarmError::State(
            self.id,
            match self.status {
                ServerStatus::Up => "not paused",
                ServerStatus::Paused => "paused already",
                ServerStatus::Killed => "dead; it does not come back in this run",
            },
        ))
    }
}
