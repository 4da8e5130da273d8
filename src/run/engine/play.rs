//! A run from its lab to its record: starts the lab, lets the load run, carries out orders, and makes the record.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::state::Engine;
use super::timing::{CONDITIONS, every};
use crate::close::record::{Record, SecondZero};
use crate::collect::progress_limit::ProgressLimit;
use crate::error::RunError;
use crate::options::RunOptions;
use crate::orders::command::{Command, Inbox};
use crate::show::notice::Notice;
use crate::show::snapshot::{Phase, Snapshot};
use crate::show::stage::enter;
use crate::under_test::OtherArms;
use crate::workload::Hurry;
use lockstorm_base::output::Stream;
use lockstorm_data::facts::{Caveat, EventKind, Step};
use lockstorm_data::model::Lack;
use lockstorm_data::scenario::Scenario;
use lockstorm_lab::{Lab, LabOptions, ServerBinary};

/// How long a run that was stopped before its load began may take to remove what it made.
const TAKE_BACK: Duration = Duration::from_secs(1);

/// Runs the scenario to its end. The lab is gone when this returns, even after an error.
pub(crate) async fn run(
    scenario: Scenario,
    options: RunOptions,
    commands: mpsc::UnboundedReceiver<Command>,
    snapshots: watch::Sender<Arc<Snapshot>>,
) -> Result<Record, RunError> {
    let (scenario, mut inbox) = (Arc::new(scenario), Inbox(commands));
    let started = std::time::SystemTime::now();
    say(&snapshots, "starting the lab");
    let binary = match options.server {
        Some(server) => server,
        None => ServerBinary::find(None)?,
    };
    let mut lab_options = LabOptions::new(binary.clone())?;
    lab_options.proxy = scenario.needs(Lack::Proxy);
    if scenario.has_routes() {
        lab_options.routes = scenario.swarm.servers;
    }
    lab_options.cuts = scenario.needs(Lack::Containers);
    lab_options.preload = scenario.needs(Lack::Preload);
    lab_options.etcd = options.etcd;
    if let Some(keeper) = options.keeper {
        lab_options.keeper = keeper;
    }
    let lab = tokio::select! {
        lab = Lab::up_telling(&scenario.lab, lab_options, |what| say(&snapshots, what)) => Arc::new(lab?),
        () = stopped(&mut inbox) => return Err(RunError::Stopped),
    };
    say(&snapshots, "filling the tables, starting the swarm");
    let mut engine = match set_up(
        scenario,
        &binary,
        lab.clone(),
        snapshots,
        &options.other_locks,
        &mut inbox,
        options.history,
    )
    .await
    {
        Ok(engine) => engine,
        Err(error) => {
            lab.down().await;
            return Err(error);
        }
    };
    engine.timing.started = started;
    engine.faults.schedule.hold(options.held, Duration::ZERO);
    let record = match engine.play(options.journal, &mut inbox).await {
        Ok(stopped) => {
            engine.machine.load_ended();
            engine.look_at_lab();
            let interrupted = engine.drain(stopped, &mut inbox).await;
            if !interrupted {
                engine.try_keys(&mut inbox).await;
            }
            engine.finish(interrupted, &mut inbox).await
        }
        Err(error) => {
            engine.give_up(ProgressLimit::QUIET).await;
            Err(error)
        }
    };
    let keys_left = lab.down().await.into_iter().map(|(node, why)| Caveat::KeysLeft {
        node: node.to_string(),
        quoted: why,
    });
    record.map(|mut record| {
        record.warnings.extend(keys_left);
        record
    })
}

/// Starts the swarm, unless an order to stop comes first: then what was made so far is removed.
async fn set_up(
    scenario: Arc<Scenario>,
    binary: &ServerBinary,
    lab: Arc<Lab>,
    snapshots: watch::Sender<Arc<Snapshot>>,
    other_locks: &OtherArms,
    inbox: &mut Inbox,
    history: Option<Stream>,
) -> Result<Engine, RunError> {
    let hurry = Hurry::default();
    let mut starting = std::pin::pin!(Engine::start(
        scenario,
        binary,
        lab,
        snapshots,
        hurry.clone(),
        other_locks,
        history
    ));
    tokio::select! {
        engine = &mut starting => return engine,
        () = stopped(inbox) => hurry.all.cancel(),
    }
    // It ends by itself after its present step, and removes what it made. We don't wait for a database that hangs.
    if let Ok(Ok(mut engine)) = timeout(TAKE_BACK, starting).await {
        engine.give_up(TAKE_BACK).await;
    }
    Err(RunError::Stopped)
}

/// Waits for the order to stop; before the load begins, other commands have no effect.
pub(crate) async fn stopped(inbox: &mut Inbox) {
    while inbox.next().await != Command::Stop {}
}

fn say(snapshots: &watch::Sender<Arc<Snapshot>>, what: &str) {
    enter(snapshots, Phase::SetUp(what.to_owned()));
}

impl Engine {
    /// Lets the load run until its end, or until it is told to stop. Returns whether it was stopped.
    async fn play(&mut self, journal: Option<Stream>, inbox: &mut Inbox) -> Result<bool, RunError> {
        let scenario = self.scenario.clone();
        if let Some(cost) = self.lab.handle.cost_of_proxy().await {
            let adds_us = cost.as_micros().try_into().unwrap_or(u64::MAX);
            self.log.push(EventKind::Proxy { adds_us });
        }
        for (node, why) in self.lab.handle.keys_stay() {
            let (node, quoted) = (node.to_string(), why);
            self.log.warn(Caveat::KeysStay { node, quoted });
        }
        let begin = Instant::now();
        // One instant for all arms: everything that a request does belongs to the part in which the request began.
        self.timing.origin = begin + scenario.warmup;
        self.timing.timeline.begin(self.timing.origin);
        self.plan_end();
        self.timing.second_zero = Some(SecondZero::at(self.timing.origin));
        self.log.set_origin(self.timing.origin);
        self.begin_journal(journal);
        self.swarm.load.begin(&scenario, begin)?;
        if scenario.warmup.is_zero() {
            self.measure();
        } else {
            self.log.push(EventKind::Phase { step: Step::WarmUp });
        }
        for server in &self.swarm.servers {
            server.begin();
        }
        let mut polled = self.lab.poll();
        let mut looks = self.lab.watch_masters(&self.arms, &self.swarm);
        let mut cluster_masters = self.lab.watch_cluster(&self.arms, &self.swarm);
        let mut keys = self.lab.watch_keys(&self.arms, &self.swarm, &self.scenario.workload);
        let mut conditions = every(CONDITIONS);
        loop {
            tokio::select! {
                command = inbox.next() => match command {
                    Command::Stop => return Ok(true),
                    Command::Fault { action, target, order } => self.by_hand(action, target, order),
                    Command::Bounce { host, order } => self.bounce(host, order),
                    Command::Turn(knob) => self.turn(knob),
                    Command::Hold(hold) => self.hold(hold),
                    Command::Step => self.step(),
                    Command::End if self.stage.phase == Phase::Running => return Ok(false),
                    Command::End => {}
                },
                report = self.faults.report() => self.fault_reported(report),
                Some(polled) = polled.recv() => {
                    let changes = self.lab.take(polled);
                    self.note(changes);
                }
                Some(look) = looks.recv() => {
                    let changes = self.lab.take_roles(look, &mut self.arms, &self.log);
                    self.note(changes);
                }
                Some(master) = cluster_masters.recv() => {
                    let lacks = self.lab.take_cluster_master(&master, &mut self.arms, &self.log);
                    self.note(lacks);
                }
                Some(told) = keys.recv() => {
                    let told = told.into_iter().filter(|_| self.stage.phase == Phase::Running);
                    let notices = told.filter_map(|told| self.arms[told.arm].keys_told(told.zombies, told.is_apart));
                    let notices: Vec<Notice> = notices.collect();
                    self.note(notices);
                }
                _ = conditions.tick() => {
                    self.due_faults();
                    self.arms.iter_mut().for_each(|arm| arm.look_at_holds(&self.swarm));
                }
                _ = self.ticks.tick() => {
                    if self.stage.phase == Phase::WarmUp && Instant::now() >= self.timing.origin {
                        self.measure();
                    }
                    self.tick();
                    if self.lab.is_gone() {
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
        self.machine.load_begins();
        self.log.push_at(
            self.timing.origin,
            EventKind::Phase {
                step: Step::MeasureBegins,
            },
        );
        let caption = self.stage.say(self.scenario.caption.clone(), None, None);
        self.note(caption);
    }

    fn is_over(&self) -> bool {
        self.stage.phase == Phase::Running
            && (self.end().is_some_and(|end| Instant::now() >= end)
                || self.arms.iter().enumerate().all(|(i, _)| self.swarm.is_done(i)))
    }
}
