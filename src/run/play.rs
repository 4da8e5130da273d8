//! A run from its lab to its record: starts the lab, lets the load run, carries out orders, and makes the record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::command::{Command, Inbox};
use super::engine::Engine;
use super::error::RunError;
use super::options::RunOptions;
use super::pace::{CONDITIONS, TICK};
use super::progress_limit::ProgressLimit;
use super::record::{Record, SecondZero};
use super::snapshot::{Phase, Snapshot};
use crate::lab::{Lab, LabOptions, NodeName, NodeStats, ServerBinary};
use crate::metrics::units::micros;
use crate::model::{EventKind, ReplicationRole};
use crate::scenario::Scenario;

/// How long a run that was stopped before its load began may take to remove what it made.
const TAKE_BACK: Duration = Duration::from_secs(1);

/// Runs the scenario to its end. The lab is gone when this returns, even after an error.
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
    lab_options.proxy = scenario.needs_proxy();
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
            engine.give_up(ProgressLimit::QUIET).await;
            Err(error)
        }
    };
    lab.down().await;
    record
}

/// Starts the swarm, unless an order to stop comes first: then what was made so far is removed.
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
    // It ends by itself after its present step, and removes what it made. We don't wait for a database that hangs.
    if let Ok(Ok(mut engine)) = timeout(TAKE_BACK, starting).await {
        engine.give_up(TAKE_BACK).await;
    }
    Err(RunError::Stopped)
}

/// Waits for the order to stop; before the load begins, other commands have no effect.
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

/// Statistics of the lock nodes, and roles of the replicated nodes.
type Polled = (BTreeMap<NodeName, NodeStats>, BTreeMap<NodeName, ReplicationRole>);

impl Engine {
    /// Lets the load run until its end, or until it is told to stop. Returns whether it was stopped.
    async fn play(&mut self, inbox: &mut Inbox) -> Result<bool, RunError> {
        let scenario = self.scenario.clone();
        if let Some(cost) = self.lab.handle.cost_of_proxy().await {
            let cost = micros(cost.as_micros().try_into().unwrap_or(u64::MAX));
            let text = format!("the lock nodes are used through a proxy, which adds {cost} to a round trip");
            self.log.push(EventKind::Phase, text);
        }
        let begin = Instant::now();
        // One instant for all arms: everything that a request does belongs to the part in which the request began.
        self.timing.origin = begin + scenario.warmup;
        self.timing.timeline.begin(self.timing.origin);
        self.timing.timeline.end(self.timing.origin + scenario.duration);
        self.timing.second_zero = Some(SecondZero::at(self.timing.origin));
        self.log.set_origin(self.timing.origin);
        self.swarm.load.begin(&scenario, begin)?;
        if scenario.warmup.is_zero() {
            self.measure();
        } else {
            self.log.push(EventKind::Phase, "warm-up: not counted");
        }
        for server in &self.swarm.servers {
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
                    Command::Fault { action, target } => self.order_fault(action, target, None),
                    Command::Bounce(host) => self.bounce(host),
                    Command::Turn(knob) => self.turn(knob),
                },
                report = self.faults.report() => self.fault_reported(report),
                Some((stats, roles)) = stats.recv() => {
                    self.lab.stats = stats;
                    self.note_roles(roles);
                }
                _ = conditions.tick() => self.due_faults(),
                _ = tick.tick() => {
                    if self.stage.phase == Phase::WarmUp && Instant::now() >= self.timing.origin {
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

    /// Starts the measured part: requests count from `origin` on, even if this is called a little later.
    fn measure(&mut self) {
        self.stage.phase = Phase::Running;
        self.log
            .push_at(self.timing.origin, EventKind::Phase, "the measured part begins");
    }

    fn is_over(&self) -> bool {
        self.stage.phase == Phase::Running
            && (Instant::now() >= self.timing.origin + self.scenario.duration
                || self.arms.iter().enumerate().all(|(i, _)| self.swarm.is_done(i)))
    }

    /// Takes the newest roles of the replicated nodes. Nobody orders a failover: each is an event.
    fn note_roles(&mut self, roles: BTreeMap<NodeName, ReplicationRole>) {
        for host in self.lab.take_roles(roles) {
            let others: Vec<String> = self
                .lab
                .masters()
                .filter(|other| *other != host)
                .map(|other| other.to_string())
                .collect();
            if others.is_empty() {
                self.log
                    .push(EventKind::Failover { host }, format!("{host} has the master now"));
            } else {
                self.log.push(
                    EventKind::Warning,
                    format!("{host} says that it has the master, and so does {}", others.join(", ")),
                );
            }
        }
    }

    pub(super) fn tick(&mut self) {
        self.watch();
        self.collect();
        self.note_progress();
        if let Some(text) = self.disk.news() {
            self.warn(text);
        }
        if let Some(step) = self.clock.look() {
            self.flaws.void.push("the machine's wall clock stepped".to_owned());
            let text = format!(
                "this machine's wall clock stepped by {:.0} ms: keys expire by it, so this run proves nothing",
                step * 1e3
            );
            self.warn(text);
        }
        if let Some(stall) = self.stall.look(Instant::now()) {
            let stall = stall.as_secs_f64();
            self.flaws
                .void
                .push(format!("the run itself stood still for {stall:.1} s"));
            self.warn(format!(
                "the run itself stood still for {stall:.1} s, stopped by a signal or without processor time: locks expired \
                 meanwhile, so it proves nothing"
            ));
        }
        self.publish();
    }

    pub(super) fn collect(&mut self) {
        let offered = self.swarm.load.offered_by_second();
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

    /// Polls the nodes' statistics and roles, outside the loop: a node that hangs must not hang the run.
    fn poll_stats(&self) -> mpsc::Receiver<Polled> {
        let (found, stats) = mpsc::channel(1);
        let lab = self.lab.handle.clone();
        tokio::spawn(async move {
            while found
                .send((lab.stats().await, lab.replication_roles().await))
                .await
                .is_ok()
            {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
        stats
    }

    pub(super) fn publish(&mut self) {
        let events = self.log.newest();
        let snapshot = self.snapshot(events);
        self.publisher.send(snapshot);
    }
}
