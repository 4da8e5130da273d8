use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::arm::Arm;
use super::clock_watch::ClockWatch;
use super::collector::{Around, Intakes};
use super::command::Inbox;
use super::disk_watch::DiskWatch;
use super::events::EventLog;
use super::faults::Faults;
use super::lab_watch::LabWatch;
use super::patience::Patience;
use super::record::SecondZero;
use super::staff::{Staff, enough_connections};
use super::{Command, Record, RunError, RunOptions};
use crate::lab::{Lab, LabOptions, NodeStats, ServerBinary};
use crate::metrics::{Figures, Knobs, NodeLoad, Phase, ServerStatus, Snapshot, Timeline};
use crate::model::{EventKind, HostId};
use crate::scenario::{LockKind, Metric, Scenario};
use crate::swarm::{AppServer, Load};
use crate::workload::Dials;

/// Snapshots come ten times a second.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// Conditions of faults are looked at this often: a lock that is held for a moment must not slip through.
pub(super) const CONDITIONS: Duration = Duration::from_millis(10);
/// How long a run that is stopped before it began may take to take back what it made.
const LAST_STEP: Duration = Duration::from_secs(1);

/// A run from its lab to its record. It lives on one thread and owns everything but what app servers own.
pub(super) struct Engine {
    pub(super) scenario: Arc<Scenario>,
    /// For example `redis-server 7.0.15`.
    pub(super) server_name: Arc<str>,
    pub(super) lab: Arc<Lab>,
    pub(super) servers: Vec<AppServer>,
    pub(super) load: Load,
    /// Cancelled when the run must end: acquires that wait are given up, and so is work that only lets simulated time pass.
    pub(super) hurry: CancellationToken,
    /// Second 0 and the end, for all who count.
    pub(super) timeline: Arc<Timeline>,
    pub(super) arms: Vec<Arm>,
    pub(super) log: EventLog,
    pub(super) faults: Faults,
    pub(super) phase: Phase,
    pub(super) knobs: Knobs,
    pub(super) node_stats: Vec<Option<NodeStats>>,
    pub(super) warnings: Vec<String>,
    /// When the measured part began, or will begin.
    pub(super) origin: Instant,
    /// The same by the clocks of the host, once the load has begun.
    pub(super) second_zero: Option<SecondZero>,
    /// While the workers finish: until when they are waited for, unless they get on.
    pub(super) patience: Option<Instant>,
    pub(super) number: u64,
    pub(super) dials: Arc<Dials>,
    clock: ClockWatch,
    disk: DiskWatch,
    /// Whether the host's wall clock stepped: the run proves nothing then.
    pub(super) clock_stepped: bool,
    /// What changes in the lab without an order.
    pub(super) watch: LabWatch,
    /// What was lost that the run can't do without: it proves nothing then.
    pub(super) lost: Vec<String>,
    /// What could not be read or finished, besides what the arms miss.
    pub(super) missing: Vec<String>,
    /// Whether it was told to stop once the load had ended: nothing is waited for any more.
    pub(super) hurry_up: bool,
    /// Why scheduled faults took no effect, known at the end.
    pub(super) unmet: Vec<String>,
    snapshots: watch::Sender<Arc<Snapshot>>,
}

/// Runs the scenario to its end. The lab is gone when this returns, whatever happened.
pub(super) async fn run(
    scenario: Scenario,
    options: RunOptions,
    commands: mpsc::UnboundedReceiver<Command>,
    snapshots: watch::Sender<Arc<Snapshot>>,
) -> Result<Record, RunError> {
    let (scenario, mut inbox) = (Arc::new(scenario), Inbox::new(commands));
    let started = std::time::SystemTime::now();
    say(&snapshots, "starting the lab");
    let binary = ServerBinary::find(options.server_bin.as_deref())?;
    let mut lab_options = LabOptions::new(binary.clone())?;
    if let Some(keeper) = options.keeper {
        lab_options.keeper = keeper;
    }
    let lab = tokio::select! {
        lab = Lab::up(&scenario.lab, lab_options) => Arc::new(lab?),
        () = stopped(&mut inbox) => return Err(RunError::Stopped),
    };
    say(&snapshots, "filling the tables, starting the swarm");
    let mut engine = match set_up(scenario, &binary, lab.clone(), snapshots, &mut inbox).await {
        Ok(engine) => engine,
        Err(error) => {
            lab.down().await;
            return Err(error);
        }
    };
    let record = match engine.play(&mut inbox).await {
        Ok(stopped) => {
            let interrupted = engine.drain(stopped, &mut inbox).await;
            engine.finish(started, interrupted, &mut inbox).await
        }
        Err(error) => {
            engine.give_up(Patience::QUIET).await;
            Err(error)
        }
    };
    lab.down().await;
    record
}

/// Starts the swarm, unless the order to stop comes first: then what was made of it so far goes again.
async fn set_up(
    scenario: Arc<Scenario>,
    binary: &ServerBinary,
    lab: Arc<Lab>,
    snapshots: watch::Sender<Arc<Snapshot>>,
    inbox: &mut Inbox,
) -> Result<Engine, RunError> {
    let hurry = CancellationToken::new();
    let mut starting = std::pin::pin!(Engine::start(scenario, binary, lab, snapshots, hurry.clone()));
    tokio::select! {
        engine = &mut starting => return engine,
        () = stopped(inbox) => hurry.cancel(),
    }
    // It ends by itself after the step that it is at, and takes back what it made. A database that hangs is not waited for.
    if let Ok(Ok(mut engine)) = timeout(LAST_STEP, starting).await {
        engine.give_up(LAST_STEP).await;
    }
    Err(RunError::Stopped)
}

/// Waits for the order to stop; other commands mean nothing before the load begins.
pub(super) async fn stopped(inbox: &mut Inbox) {
    while inbox.next().await != Command::Stop {}
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
        hurry: CancellationToken,
    ) -> Result<Self, RunError> {
        let number = snapshots.borrow().number;
        let (dials, knobs) = (Arc::new(Dials::default()), snapshots.borrow().knobs);
        enough_connections(&scenario).await?;
        let timeline = Arc::new(Timeline::new());
        let load = Load::new(&scenario, &timeline);
        let staff = Staff {
            scenario: &scenario,
            lab: &lab,
            dials: &dials,
            timeline: &timeline,
            load: &load,
            hurry: &hurry,
        };
        let (arms, servers) = staff.hire().await?;
        let origin = Instant::now();
        let disk = DiskWatch::start(lab.dir().to_owned());
        Ok(Self {
            faults: Faults::new(&scenario.faults),
            watch: LabWatch::new(&lab, scenario.lab.hosts),
            lost: Vec::new(),
            missing: Vec::new(),
            hurry_up: false,
            unmet: Vec::new(),
            node_stats: vec![None; scenario.lab.hosts],
            scenario,
            server_name: binary.to_string().into(),
            lab,
            servers,
            load,
            hurry,
            timeline,
            arms,
            log: EventLog::new(origin),
            phase: Phase::WarmUp,
            knobs,
            warnings: Vec::new(),
            origin,
            second_zero: None,
            patience: None,
            number,
            dials,
            clock: ClockWatch::new(),
            disk,
            clock_stepped: false,
            snapshots,
        })
    }

    /// Lets the load run until its end, or until it is told to stop. Says whether it was stopped.
    async fn play(&mut self, inbox: &mut Inbox) -> Result<bool, RunError> {
        let scenario = self.scenario.clone();
        let begin = Instant::now();
        // One instant for all: whatever a request does belongs to the side of it that the request began on.
        self.origin = begin + scenario.warmup;
        self.timeline.begin(self.origin);
        self.timeline.end(self.origin + scenario.duration);
        self.second_zero = Some(SecondZero::at(self.origin));
        self.log.set_origin(self.origin);
        self.load.begin(&scenario, begin)?;
        if scenario.warmup.is_zero() {
            self.measure();
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
        loop {
            tokio::select! {
                command = inbox.next() => match command {
                    Command::Stop => return Ok(true),
                    Command::Fault { action, target } => self.order_fault(action, target, None).await,
                    Command::Bounce(host) => self.bounce(host).await,
                    Command::Turn(knob) => self.turn(knob),
                },
                report = self.faults.report() => self.fault_reported(report),
                Some(found) = stats.recv() => self.node_stats = found,
                _ = conditions.tick() => self.due_faults().await,
                _ = tick.tick() => {
                    if self.phase == Phase::WarmUp && Instant::now() >= self.origin {
                        self.measure();
                    }
                    self.tick();
                    if self.cannot_go_on() {
                        return Ok(true);
                    }
                    if self.is_over() {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// The measured part has begun: its requests count from `origin` on, whenever we notice.
    fn measure(&mut self) {
        self.phase = Phase::Running;
        self.log
            .push_at(self.origin, EventKind::Phase, "the measured part begins");
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Running
            && (Instant::now() >= self.origin + self.scenario.duration
                || self.arms.iter().enumerate().all(|(i, _)| self.is_done(i)))
    }

    /// Whether an arm has begun all its requests and no worker is left at one.
    pub(super) fn is_done(&self, arm: usize) -> bool {
        let idle = |(index, server): (usize, &AppServer)| match self.load.busy(index, arm) {
            // What a killed app server had is dropped.
            Some(busy) => busy == 0 || server.status().0 == ServerStatus::Killed,
            None => server.active(arm) == 0,
        };
        self.load.exhausted(arm) && self.servers.iter().enumerate().all(idle)
    }

    /// Seconds of the measured part.
    pub(super) fn elapsed(&self) -> f64 {
        let now = self.log.seconds(Instant::now());
        let length = self
            .timeline
            .length()
            .map_or(f64::INFINITY, |length| length.as_secs_f64());
        now.min(length)
    }

    pub(super) fn tick(&mut self) {
        self.watch();
        self.collect();
        self.feel_pulses();
        if let Some(text) = self.disk.news() {
            self.warn(text);
        }
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

    pub(super) fn collect(&mut self) {
        let offered = self.load.offered_by_second();
        for arm in &mut self.arms {
            if let Some(offered) = &offered {
                arm.collector.offered(offered);
            }
            let worst = arm.audit.as_ref().and_then(|audit| {
                let found = audit.found();
                arm.collector.audit(found.books, &found.news);
                found.worst
            });
            let ended = arm.collector.collect();
            super::announce::damage(arm, worst, &mut self.log);
            super::announce::sold_out(arm, &mut self.log);
            super::announce::failures(arm, &mut self.log);
            if let Some(ended) = ended {
                super::announce::quorum(arm, &ended, &mut self.log);
            }
        }
    }

    pub(super) fn figures(&self, arm: usize) -> Figures {
        let intakes = |(index, server): (usize, &AppServer)| Intakes {
            dealt: self.load.dealt(index, arm),
            killed: server.status().0 == ServerStatus::Killed,
        };
        let attempts = self.servers.iter().filter_map(|server| server.gauges(arm));
        self.arms[arm].collector.figures(Around {
            incomplete: !self.arms[arm].missing.is_empty(),
            elapsed: self.elapsed(),
            done: self.load.all_handed_out(arm) && self.is_done(arm),
            held: self.held(arm),
            servers: self.servers.iter().enumerate().map(intakes).collect(),
            dropped: self.load.dropped(),
            attempts: attempts.map(|gauges| gauges.attempts()).sum(),
            nodes: self.nodes(arm),
        })
    }

    /// The lock nodes of an arm, with the commands that they were sent for it.
    fn nodes(&self, arm: usize) -> Vec<NodeLoad> {
        let spec = &self.arms[arm].spec;
        let hosts: Vec<HostId> = match spec.lock {
            LockKind::None | LockKind::Local => Vec::new(),
            LockKind::Single => vec![spec.host],
            LockKind::Redlock => (0..self.scenario.lab.hosts).map(HostId::from_index).collect(),
        };
        let load = |(place, host): (usize, HostId)| {
            let mut load = NodeLoad {
                host: host.0,
                ..NodeLoad::default()
            };
            for gauges in self.servers.iter().filter_map(|server| server.gauges(arm)) {
                let sent = gauges.sent(place);
                load.sets += sent.sets;
                load.extends += sent.extends;
                load.deletes += sent.deletes;
            }
            load
        };
        hosts.into_iter().enumerate().map(load).collect()
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

    pub(super) fn publish(&mut self) {
        self.number += 1;
        let events = self.log.newest();
        let snapshot = self.snapshot(events);
        self.snapshots.send_replace(Arc::new(snapshot));
    }
}
