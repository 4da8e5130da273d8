//! A run from its lab to its record: starts the lab, lets the load run, carries out orders, and makes the record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::close::record::{Record, SecondZero};
use crate::collect::progress_limit::ProgressLimit;
use crate::engine::pace::{CONDITIONS, TICK};
use crate::engine::state::Engine;
use crate::error::RunError;
use crate::options::RunOptions;
use crate::orders::command::{Command, Inbox};
use crate::show::snapshot::{Phase, Snapshot};
use crate::watch::cluster::{self, Change};
use crate::watch::stall_watch::StallWatch;
use crate::workload::Hurry;
use lockstorm_data::metrics::units::micros;
use lockstorm_data::model::{ClusterNode, EventKind};
use lockstorm_data::scenario::{FaultSpec, Scenario};
use lockstorm_lab::{Lab, LabOptions, NodeName, NodeStats, ServerBinary};

/// How long a run that was stopped before its load began may take to remove what it made.
const TAKE_BACK: Duration = Duration::from_secs(1);

/// Runs the scenario to its end. The lab is gone when this returns, even after an error.
pub(crate) async fn run(
    scenario: Scenario,
    options: RunOptions,
    commands: mpsc::UnboundedReceiver<Command>,
    snapshots: watch::Sender<Arc<Snapshot>>,
) -> Result<Record, RunError> {
    let (scenario, mut inbox) = (Arc::new(scenario), Inbox::new(commands));
    let started = std::time::SystemTime::now();
    say(&snapshots, "starting the lab");
    let binary = match options.server {
        Some(server) => server,
        None => ServerBinary::find(None)?,
    };
    let mut lab_options = LabOptions::new(binary.clone())?;
    lab_options.proxy = scenario.needs_proxy();
    lab_options.cuts = scenario.faults.iter().any(FaultSpec::cuts_host);
    if let Some(keeper) = options.keeper {
        lab_options.keeper = keeper;
    }
    let lab = tokio::select! {
        lab = Lab::up_telling(&scenario.lab, lab_options, |what| say(&snapshots, what)) => Arc::new(lab?),
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
            engine.doubt_arms_without_nodes();
            let interrupted = engine.drain(stopped, &mut inbox).await;
            if !interrupted {
                engine.try_keys(&mut inbox).await;
            }
            engine.finish(started, interrupted, &mut inbox).await
        }
        Err(error) => {
            engine.give_up(ProgressLimit::QUIET).await;
            Err(error)
        }
    };
    let keys_left =
        lab.down().await.into_iter().map(|(node, why)| {
            format!("{node}: keys of this run may be left there ({why}); they expire within their TTL")
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
    inbox: &mut Inbox,
) -> Result<Engine, RunError> {
    let hurry = Hurry::new();
    let mut starting = std::pin::pin!(Engine::start(scenario, binary, lab, snapshots, hurry.clone()));
    tokio::select! {
        engine = &mut starting => return engine,
        () = stopped(inbox) => hurry.give_up_all(),
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
    snapshots.send_modify(|snapshot| {
        let snapshot = Arc::make_mut(snapshot);
        snapshot.number += 1;
        snapshot.phase = Phase::SetUp(what.to_owned());
    });
}

/// What the nodes said when they were polled.
struct Polled {
    stats: BTreeMap<NodeName, NodeStats>,
    in_cluster: BTreeMap<NodeName, Option<ClusterNode>>,
}

impl Engine {
    /// Lets the load run until its end, or until it is told to stop. Returns whether it was stopped.
    async fn play(&mut self, inbox: &mut Inbox) -> Result<bool, RunError> {
        let scenario = self.scenario.clone();
        if let Some(cost) = self.lab.handle.cost_of_proxy().await {
            let adds_us = cost.as_micros().try_into().unwrap_or(u64::MAX);
            let text = format!(
                "the nodes are used through a proxy, which adds {} to a round trip",
                micros(adds_us)
            );
            self.log.push(EventKind::Proxy { adds_us }, text);
        }
        for (node, why) in self.lab.handle.keys_stay() {
            self.warn(format!(
                "{node}: keys that are left can't be removed at the end ({why}); they expire within their TTL. Its user needs SCAN"
            ));
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
        let mut polled = self.poll();
        let mut looks = self.watch_masters();
        let mut cluster_masters = self.watch_cluster();
        let mut tick = tokio::time::interval(TICK);
        let mut conditions = tokio::time::interval(CONDITIONS);
        for interval in [&mut tick, &mut conditions] {
            interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        }
        loop {
            tokio::select! {
                command = inbox.next() => match command {
                    Command::Stop => return Ok(true),
                    Command::Fault { action, target, order } => self.order_fault(action, target, Some(order), None),
                    Command::Bounce { host, order } => self.bounce(host, order),
                    Command::Turn(knob) => self.turn(knob),
                },
                report = self.faults.report() => self.fault_reported(report),
                Some(polled) = polled.recv() => {
                    self.lab.stats = polled.stats;
                    self.note_cluster(&polled.in_cluster);
                }
                Some(look) = looks.recv() => self.note_masters(look),
                Some(master) = cluster_masters.recv() => self.note_cluster_master(&master),
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
        self.say(self.scenario.caption.clone());
    }

    fn is_over(&self) -> bool {
        self.stage.phase == Phase::Running
            && (Instant::now() >= self.timing.origin + self.scenario.duration
                || self.arms.iter().enumerate().all(|(i, _)| self.swarm.is_done(i)))
    }

    /// Takes what the nodes of the cluster said. Nobody orders its failovers either.
    fn note_cluster(&mut self, said: &BTreeMap<NodeName, Option<ClusterNode>>) {
        for change in self.lab.cluster.take(said) {
            match change {
                Change::Master(host) => {
                    let masters = self.lab.cluster.masters_on(host).unwrap_or_default();
                    let has = match masters {
                        1 => "a master".to_owned(),
                        masters => format!("{masters} masters"),
                    };
                    let text = format!("{host} has taken over slots: it has {has} of the cluster now");
                    self.log.push(EventKind::Failover { host }, text);
                }
                Change::Usable(slots) => {
                    self.log.push(EventKind::Cluster { slots }, cluster::words(slots));
                }
            }
        }
    }

    pub(crate) fn tick(&mut self) {
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
        if self.stage.phase == Phase::Running {
            self.look_at_threads();
        }
        self.publish();
    }

    /// Notes how much of the time this machine let the app servers run, and warns once if that is too little.
    fn look_at_threads(&mut self) {
        let (sum, threads) = (self.swarm.stood_still(), self.swarm.servers.len());
        let Some(share) = self.stall.stood_still(Instant::now(), sum, threads) else {
            return;
        };
        let text = format!(
            "this machine is too busy: it let the app servers wait for {:.0} % of the time, so a failure may be its own",
            share * 100.0
        );
        let busy = (share > StallWatch::MUCH).then_some(text);
        if let (None, Some(text)) = (&self.flaws.busy, &busy) {
            self.log.push(EventKind::Warning, text.clone());
        }
        self.flaws.busy = busy;
    }

    pub(crate) fn collect(&mut self) {
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
            crate::collect::announce::damage(arm, worst, &mut self.log);
            crate::collect::announce::stalls(arm, &mut self.log);
            crate::collect::announce::sold_out(arm, &mut self.log);
            crate::collect::announce::failures(arm, &mut self.log);
            if let Some(ended) = ended {
                crate::collect::announce::quorum(arm, &ended, &mut self.log);
            }
        }
    }

    /// Polls the nodes' statistics and roles, outside the loop: a node that hangs must not hang the run.
    fn poll(&self) -> mpsc::Receiver<Polled> {
        let (found, polled) = mpsc::channel(1);
        let lab = self.lab.handle.clone();
        tokio::spawn(async move {
            loop {
                let (stats, in_cluster) = tokio::join!(lab.stats(), lab.cluster_roles());
                if found.send(Polled { stats, in_cluster }).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
        polled
    }

    pub(crate) fn publish(&mut self) {
        let events = self.log.newest();
        let snapshot = self.snapshot(events);
        self.publisher.send(snapshot);
    }
}
