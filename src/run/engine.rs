use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::arm::Arm;
use super::clock_watch::ClockWatch;
use super::events::EventLog;
use super::faults::Faults;
use super::lab_watch::LabWatch;
use super::{Command, Record, RunError, RunOptions};
use crate::lab::{Lab, LabOptions, NodeStats, ServerBinary};
use crate::metrics::{Figures, Knobs, Phase, Recorder, Snapshot};
use crate::model::{EventKind, ServerId};
use crate::scenario::{Metric, Scenario};
use crate::store;
use crate::swarm::{AppServer, ArmPlan, ServerPlan};
use crate::workload::Dials;

/// Snapshots come ten times a second.
const TICK: Duration = Duration::from_millis(100);
/// Conditions of faults are looked at this often: a lock that is held for a moment must not slip through.
const CONDITIONS: Duration = Duration::from_millis(10);
/// How long requests under way may take to end once the load has ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// A run from its lab to its record. It lives on one thread and owns everything but what app servers own.
pub(super) struct Engine {
    pub(super) scenario: Arc<Scenario>,
    /// For example `redis-server 7.0.15`.
    pub(super) server_name: Arc<str>,
    pub(super) lab: Arc<Lab>,
    pub(super) servers: Vec<AppServer>,
    pub(super) arms: Vec<Arm>,
    pub(super) log: EventLog,
    pub(super) faults: Faults,
    pub(super) phase: Phase,
    pub(super) knobs: Knobs,
    pub(super) node_stats: Vec<Option<NodeStats>>,
    pub(super) warnings: Vec<String>,
    /// When the measured part began, or will begin.
    pub(super) origin: Instant,
    /// Seconds of the measured part when the load ended.
    pub(super) ended_at: Option<f64>,
    pub(super) number: u64,
    pub(super) dials: Arc<Dials>,
    clock: ClockWatch,
    /// Whether the host's wall clock stepped: the run proves nothing then.
    pub(super) clock_stepped: bool,
    /// What changes in the lab without an order.
    pub(super) watch: LabWatch,
    /// What was lost that the run can't do without: it proves nothing then.
    pub(super) lost: Vec<String>,
    /// Why scheduled faults took no effect, known at the end.
    pub(super) unmet: Vec<String>,
    snapshots: watch::Sender<Arc<Snapshot>>,
}

/// Runs the scenario to its end. The lab is gone when this returns, whatever happened.
pub(super) async fn run(
    scenario: Scenario,
    options: RunOptions,
    mut commands: mpsc::UnboundedReceiver<Command>,
    snapshots: watch::Sender<Arc<Snapshot>>,
) -> Result<Record, RunError> {
    let scenario = Arc::new(scenario);
    let started = std::time::SystemTime::now();
    say(&snapshots, "starting the lab");
    let binary = ServerBinary::find(options.server_bin.as_deref())?;
    let mut lab_options = LabOptions::new(binary.clone())?;
    if let Some(keeper) = options.keeper {
        lab_options.keeper = keeper;
    }
    let lab = tokio::select! {
        lab = Lab::up(&scenario.lab, lab_options) => Arc::new(lab?),
        () = stopped(&mut commands) => return Err(RunError::Stopped),
    };
    say(&snapshots, "starting the swarm");
    let started_up = tokio::select! {
        engine = Engine::start(scenario, &binary, lab.clone(), snapshots) => engine,
        () = stopped(&mut commands) => Err(RunError::Stopped),
    };
    let mut engine = match started_up {
        Ok(engine) => engine,
        Err(error) => {
            lab.down().await;
            return Err(error);
        }
    };
    let interrupted = engine.play(&mut commands).await;
    engine.drain().await;
    let record = engine.finish(started, interrupted).await;
    lab.down().await;
    record
}

/// Waits for the order to stop; other commands mean nothing before the load begins.
async fn stopped(commands: &mut mpsc::UnboundedReceiver<Command>) {
    while let Some(command) = commands.recv().await {
        if command == Command::Stop {
            return;
        }
    }
    // Nobody can command this run any more: it plays to its end.
    std::future::pending::<()>().await;
}

fn say(snapshots: &watch::Sender<Arc<Snapshot>>, what: &str) {
    snapshots.send_modify(|snapshot| {
        let snapshot = Arc::make_mut(snapshot);
        snapshot.number += 1;
        snapshot.phase = Phase::SetUp(what.to_owned());
    });
}

impl Engine {
    async fn start(
        scenario: Arc<Scenario>,
        binary: &ServerBinary,
        lab: Arc<Lab>,
        snapshots: watch::Sender<Arc<Snapshot>>,
    ) -> Result<Self, RunError> {
        let number = snapshots.borrow().number;
        let (dials, knobs) = (Arc::new(Dials::default()), snapshots.borrow().knobs);
        enough_connections(&scenario).await?;
        let mut arms = Vec::new();
        let servers = match staff(&scenario, &lab, &dials, &mut arms).await {
            Ok(servers) => servers,
            Err(error) => {
                for arm in &arms {
                    arm.place.remove().await;
                }
                return Err(error);
            }
        };
        let origin = Instant::now();
        Ok(Self {
            faults: Faults::new(&scenario.faults),
            watch: LabWatch::new(&lab, scenario.lab.hosts),
            lost: Vec::new(),
            unmet: Vec::new(),
            node_stats: vec![None; scenario.lab.hosts],
            scenario,
            server_name: binary.to_string().into(),
            lab,
            servers,
            arms,
            log: EventLog::new(origin),
            phase: Phase::WarmUp,
            knobs,
            warnings: Vec::new(),
            origin,
            ended_at: None,
            number,
            dials,
            clock: ClockWatch::new(),
            clock_stepped: false,
            snapshots,
        })
    }

    /// Lets the load run until its end, or until it is told to stop. Says whether it was stopped.
    async fn play(&mut self, commands: &mut mpsc::UnboundedReceiver<Command>) -> bool {
        self.origin = Instant::now() + self.scenario.warmup;
        self.log.set_origin(self.origin);
        let now = tokio::time::Instant::now();
        for arm in &self.arms {
            arm.pacer.start(now);
        }
        if self.scenario.warmup.is_zero() {
            self.measure().await;
        } else {
            self.log.push(EventKind::Phase, "warm-up: not counted");
        }
        for server in &self.servers {
            server.begin();
        }
        let mut stats = self.poll_stats();
        let mut tick = tokio::time::interval(TICK);
        let mut conditions = tokio::time::interval(CONDITIONS);
        for interval in [&mut tick, &mut conditions] {
            interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        }
        let mut commanded = true;
        loop {
            tokio::select! {
                command = commands.recv(), if commanded => match command {
                    Some(Command::Stop) => return true,
                    Some(Command::Fault { action, target }) => self.order_fault(action, target, None).await,
                    Some(Command::Bounce(host)) => self.bounce(host).await,
                    Some(Command::Turn(knob)) => self.turn(knob),
                    None => commanded = false,
                },
                report = self.faults.report() => self.fault_reported(report),
                Some(found) = stats.recv() => self.node_stats = found,
                _ = conditions.tick() => self.due_faults().await,
                _ = tick.tick() => {
                    if self.phase == Phase::WarmUp && Instant::now() >= self.origin {
                        self.measure().await;
                    }
                    self.tick();
                    if self.cannot_go_on() {
                        return true;
                    }
                    if self.is_over() {
                        return false;
                    }
                }
            }
        }
    }

    /// The measured part begins: what was counted so far is forgotten.
    async fn measure(&mut self) {
        // Exactly now, so that the first second is a whole one.
        self.origin = Instant::now();
        self.log.set_origin(self.origin);
        for arm in &mut self.arms {
            if let Some(Ok(books)) = match &arm.audit {
                Some(audit) => Some(audit.look().await),
                None => None,
            } {
                arm.collector.audit(books);
            }
            arm.collector.measure(0);
            arm.pacer.measure();
        }
        self.phase = Phase::Running;
        self.log.push(EventKind::Phase, "the measured part begins");
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Running
            && (self.elapsed() >= self.scenario.duration.as_secs_f64()
                || self.arms.iter().enumerate().all(|(i, _)| self.is_done(i)))
    }

    /// Whether an arm has begun all its requests and no worker is left at one.
    pub(super) fn is_done(&self, arm: usize) -> bool {
        self.arms[arm].pacer.exhausted() && self.servers.iter().all(|server| server.active(arm) == 0)
    }

    /// Seconds of the measured part.
    pub(super) fn elapsed(&self) -> f64 {
        self.ended_at.unwrap_or_else(|| self.log.seconds(Instant::now()))
    }

    fn tick(&mut self) {
        self.watch();
        self.collect();
        self.feel_pulses();
        if let Some(step) = self.clock.look() {
            self.clock_stepped = true;
            let text = format!(
                "the host's clock stepped by {:.0} ms: keys expire by it, so this run proves nothing",
                step * 1e3
            );
            self.warn(text);
        }
        self.publish();
    }

    pub(super) fn warn(&mut self, text: String) {
        self.log.push(EventKind::Warning, text.clone());
        self.warnings.push(text);
    }

    fn collect(&mut self) {
        #[allow(clippy::cast_possible_truncation)] // seconds of a run
        let second = self.elapsed().floor() as i64;
        for arm in &mut self.arms {
            let worst = arm.audit.as_ref().and_then(|audit| {
                let (books, worst) = audit.found();
                arm.collector.audit(books);
                worst
            });
            let ended = arm.collector.collect(second);
            super::announce::damage(arm, worst, &mut self.log);
            super::announce::failures(arm, &mut self.log);
            if let Some(ended) = ended {
                super::announce::quorum(arm, ended.outcomes, &mut self.log);
            }
        }
    }

    pub(super) fn figures(&self, arm: usize) -> Figures {
        let offered = self.arms[arm].pacer.offered(tokio::time::Instant::now());
        self.arms[arm]
            .collector
            .figures(self.elapsed(), offered, self.held(arm))
    }

    /// Locks of an arm that are held now, and those of them with fewer votes than there are nodes: read from the locks
    /// themselves.
    pub(super) fn held(&self, arm: usize) -> (u64, u64) {
        let held = self.servers.iter().map(|server| server.held(arm));
        held.fold((0, 0), |sum, (holding, partial)| {
            (sum.0 + holding as u64, sum.1 + partial as u64)
        })
    }

    /// The present figure of an arm, for the conditions of faults.
    #[allow(clippy::cast_precision_loss)] // locks held are few
    pub(super) fn figure(&self, arm: &str, metric: Metric) -> f64 {
        let Some(arm) = self.arms.iter().position(|candidate| candidate.spec.name == arm) else {
            return f64::NAN;
        };
        match metric {
            // Asked for a hundred times a second: the other figures would cost more than they are worth.
            Metric::Holding => self.held(arm).0 as f64,
            Metric::Partial => self.held(arm).1 as f64,
            _ => self.figures(arm).get(metric),
        }
    }

    /// Asks the nodes how they are once a second, beside the loop: a node that hangs must not hang the run.
    fn poll_stats(&self) -> mpsc::Receiver<Vec<Option<NodeStats>>> {
        let (found, stats) = mpsc::channel(1);
        let lab = self.lab.clone();
        tokio::spawn(async move {
            while found.send(lab.stats().await).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
        stats
    }

    /// Ends the load: no further request begins, those under way may end.
    async fn drain(&mut self) {
        self.ended_at = Some(self.elapsed());
        self.phase = Phase::Draining;
        self.log.push(EventKind::Phase, "the load has ended");
        self.publish();
        for arm in &self.arms {
            arm.pacer.end(tokio::time::Instant::now());
        }
        let deadline = Instant::now() + PATIENCE;
        for server in &mut self.servers {
            server.drain(deadline.saturating_duration_since(Instant::now())).await;
        }
        self.collect();
    }

    pub(super) fn publish(&mut self) {
        self.number += 1;
        let events = self.log.newest();
        let snapshot = self.snapshot(events);
        self.snapshots.send_replace(Arc::new(snapshot));
    }
}

/// Makes the arms and starts the app servers. The arms made so far are in `arms` if that fails.
async fn staff(
    scenario: &Scenario,
    lab: &Lab,
    dials: &Arc<Dials>,
    arms: &mut Vec<Arm>,
) -> Result<Vec<AppServer>, RunError> {
    let mut plans: Vec<Vec<ArmPlan>> = vec![Vec::new(); scenario.swarm.servers];
    for (index, spec) in scenario.arms.iter().enumerate() {
        let recorders: Vec<Arc<Recorder>> = plans.iter().map(|_| Arc::new(Recorder::new())).collect();
        let arm = Arm::prepare(scenario, lab, index, spec, recorders.clone()).await?;
        for (plan, recorder) in plans.iter_mut().zip(recorders) {
            let (spec, place, pacer) = (arm.spec.clone(), arm.place.clone(), arm.pacer.clone());
            plan.push(ArmPlan {
                spec,
                place,
                recorder,
                pacer,
            });
        }
        arms.push(arm);
    }
    let (workload, database) = (Arc::new(scenario.workload.clone()), Arc::new(scenario.database.clone()));
    let mut servers = Vec::new();
    for (index, arms) in plans.into_iter().enumerate() {
        let plan = ServerPlan {
            id: ServerId::from_index(index),
            workers: scenario.swarm.workers,
            servers: scenario.swarm.servers,
            ramp: scenario.swarm.ramp,
            nodes: lab.nodes(),
            cache: lab.cache(),
            workload: workload.clone(),
            database: database.clone(),
            dials: dials.clone(),
            seed: scenario.seed,
            arms,
        };
        servers.push(AppServer::start(plan).await?);
    }
    Ok(servers)
}

/// Refuses a scenario that needs more connections than the database can give: it would hang for them instead.
async fn enough_connections(scenario: &Scenario) -> Result<(), RunError> {
    let Some(free) = store::room(&scenario.database).await.map_err(RunError::Database)? else {
        return Ok(());
    };
    let (servers, arms) = (scenario.swarm.servers as u64, scenario.arms.len() as u64);
    // Besides the pools each arm has one connection that reads its books and one that claims its schema.
    let needed = servers * arms * u64::from(scenario.database.pool) + 2 * arms;
    if needed > free {
        return Err(RunError::Connections { needed, free });
    }
    Ok(())
}
