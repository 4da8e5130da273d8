//! What a run consists of, and what is done ten times a second.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tokio::sync::watch;
use tokio::time::Interval;

use super::preparation::{enough_connections, prepare};
use super::timing::{TICK, Timing, every};
use crate::close::journal::Journal;
use crate::collect::arm::Arm;
use crate::collect::arm_history::{head, put};
use crate::collect::live_swarm::LiveSwarm;
use crate::error::RunError;
use crate::orders::faults::Faults;
use crate::orders::turned::Turned;
use crate::show::events::{EventLog, seconds};
use crate::show::notice::Notice;
use crate::show::outlasted::{self, Outlasted};
use crate::show::snapshot::{ArmView, Knobs, Phase, Snapshot};
use crate::show::stage::Stage;
use crate::swarm::Load;
use crate::under_test::OtherArms;
use crate::watch::lab::LiveLab;
use crate::watch::machine_watch::MachineWatch;
use crate::workload::Hurry;
use lockstorm_base::output::Stream;
use lockstorm_data::facts::{Caveat, EventKind};
use lockstorm_data::metrics::{Figures, Metric, Time, Timeline};
use lockstorm_data::scenario::Scenario;
use lockstorm_lab::{Lab, ServerBinary};

/// A run from its lab to its record. It lives on one thread and owns everything that app servers don't. Its parts return what they
/// notice, and it writes that down.
pub(crate) struct Engine {
    pub scenario: Arc<Scenario>,
    pub lab: LiveLab,
    pub swarm: LiveSwarm,
    pub arms: Vec<Arm>,
    pub faults: Faults,
    pub knobs: Knobs,
    pub turned: Turned,
    pub timing: Timing,
    pub stage: Stage,
    /// What could not be finished, besides what the arms list themselves.
    pub missing: Vec<Caveat>,
    pub log: EventLog,
    pub journal: Option<Journal>,
    pub snapshots: watch::Sender<Arc<Snapshot>>,
    /// When the regular work is done.
    pub ticks: Interval,
    pub machine: MachineWatch,
}

impl Engine {
    /// Makes the arms and starts the app servers. No worker begins yet.
    pub async fn start(
        scenario: Arc<Scenario>,
        binary: &ServerBinary,
        lab: Arc<Lab>,
        snapshots: watch::Sender<Arc<Snapshot>>,
        hurry: Hurry,
        other_locks: &OtherArms,
        history: Option<Stream>,
    ) -> Result<Self, RunError> {
        let knobs = snapshots.borrow().knobs;
        enough_connections(&scenario).await?;
        let timeline = Arc::new(Timeline::new());
        let mut swarm = LiveSwarm {
            servers: Vec::new(),
            load: Load::new(&scenario, &timeline),
            hurry,
            live_settings: Arc::default(),
            history,
        };
        if let Some(history) = &swarm.history {
            put(history, &head(&scenario));
        }
        let arms = prepare(&scenario, &lab, &mut swarm, other_locks).await?;
        let origin = Instant::now();
        Ok(Self {
            faults: Faults::new(&scenario.faults),
            machine: MachineWatch::start(&scenario.arms, lab.dir().to_owned()),
            lab: LiveLab::new(lab, scenario.lab.clone(), binary),
            swarm,
            scenario,
            arms,
            knobs,
            turned: Turned::default(),
            timing: Timing {
                timeline,
                origin,
                second_zero: None,
                started: SystemTime::now(),
            },
            stage: Stage {
                phase: Phase::WarmUp,
                caption: None,
                caption_of: None,
                act: None,
                gives_up_at: None,
                waits_for_nothing: false,
            },
            missing: Vec::new(),
            log: EventLog::new(origin),
            journal: None,
            snapshots,
            ticks: every(TICK),
        })
    }

    /// Writes down what a part has noticed.
    pub fn note(&mut self, notices: impl IntoIterator<Item = Notice>) {
        for notice in notices {
            match notice {
                Notice::Event(at, EventKind::Warning { caveat }) => self.log.warn_at(at, caveat),
                Notice::Event(at, kind) => {
                    let is_of_masters = matches!(kind, EventKind::Failover { .. } | EventKind::Demoted { .. });
                    let event = self.log.push_at(at, kind);
                    if is_of_masters {
                        let at = self.log.seconds(at);
                        self.arms.iter_mut().for_each(|arm| arm.masters_changed(at, event));
                    }
                }
                Notice::Warning(caveat) => self.log.warn(caveat),
                Notice::Once(caveat) => self.log.warn_once(caveat),
            }
        }
    }

    /// Notes that something of this arm could not be read or finished, so that the record is partial.
    pub fn miss(&mut self, arm: usize, what: Caveat) {
        self.arms[arm].missing.push(what.clone());
        self.log.warn_once(what);
    }

    /// Everything that could not be read or finished.
    pub fn all_missing(&self) -> Vec<Caveat> {
        let of_arms = self.arms.iter().flat_map(|arm| &arm.missing);
        of_arms.chain(&self.missing).cloned().collect()
    }

    pub fn figures(&self, arm: usize) -> Figures {
        self.arms[arm].figures(&self.swarm, self.timing.elapsed(), None)
    }

    /// The present figure of an arm, for the conditions of faults.
    pub fn figure(&self, arm: &str, metric: Metric) -> f64 {
        let Some(arm) = self.arms.iter().position(|candidate| candidate.spec.name == arm) else {
            return f64::NAN;
        };
        match metric {
            // This is asked for a hundred times a second, and the other figures are expensive.
            Metric::Holding => self.swarm.held(arm).0 as f64,
            Metric::Partial => self.swarm.held(arm).1 as f64,
            _ => metric.of(&self.figures(arm)),
        }
    }

    pub fn tick(&mut self) {
        let changes = self.lab.look(&self.arms);
        self.note(changes);
        self.take_unordered_losses();
        self.take_unordered_outages();
        self.take_complaints();
        for index in 0..self.arms.len() {
            let books = self.arms[index].look_at_books();
            self.note(books);
        }
        self.collect();
        let now = Instant::now();
        for arm in &mut self.arms {
            arm.note_progress(&self.swarm, now);
        }
        let machine = self.machine.look();
        self.note(machine);
        if self.stage.phase == Phase::Running {
            let busy = self.machine.check_stalls(&self.swarm, self.timing.elapsed());
            self.note(busy);
        }
        self.write_journal(false);
        self.look_at_story();
        self.publish();
    }

    /// Takes in what nodes have lost without an order.
    pub fn take_unordered_losses(&mut self) {
        for loss in std::mem::take(&mut self.lab.unordered_losses) {
            self.arms
                .iter_mut()
                .for_each(|arm| _ = arm.holds.lost(loss.clone(), &[]));
        }
    }

    /// Takes in what is to be told of clients.
    pub fn take_complaints(&mut self) {
        for index in 0..self.arms.len() {
            let complaints = Arc::clone(&self.arms[index].complaints);
            self.note(complaints.take().into_iter().map(Notice::Once));
            self.note(complaints.take_errors().into_iter().map(Notice::Warning));
        }
    }

    /// Takes in what was counted in all arms.
    pub fn collect(&mut self) {
        let offered = self.swarm.load.offered_by_second();
        for index in 0..self.arms.len() {
            let notices = self.arms[index].collect(&self.swarm, offered.as_ref());
            self.note(notices);
        }
    }

    pub fn publish(&mut self) {
        let now = Instant::now();
        let with_nodes = self.arms.iter().filter(|arm| arm.spec.lock.uses_nodes());
        let ttls = outlasted::ttls(with_nodes.map(|arm| self.swarm.live_settings.ttl(arm.spec.ttl)));
        let (elapsed, before) = (self.timing.elapsed(), self.snapshots.borrow().clone());
        let is_on = matches!(self.stage.phase, Phase::WarmUp | Phase::Running);
        // Quantiles are expensive and change slowly, so that they are counted twice a second while the load is on.
        let is_between = is_on && before.phase == self.stage.phase && before.number % 5 > 0;
        let arm_view = |arm: &Arm| {
            let earlier = before.arms.get(arm.index).filter(|_| is_between);
            let figures = arm.figures(&self.swarm, elapsed, earlier.map(|arm| &arm.figures));
            let collector = &arm.collector;
            let host = |server| self.lab.host_of(server);
            ArmView {
                name: arm.spec.name.clone(),
                series: Arc::clone(&collector.curves.series),
                recent_tenths: Arc::clone(&collector.curves.recent_tenths),
                votes: collector.newest_votes,
                lacking: collector.lacking.clone(),
                last_locks: arm.holds.last_locks(&self.timing.timeline, host),
                double_holds: arm.holds.shown(&self.timing.timeline, host),
                outlasted: Outlasted::of(collector.totals.measured.time(Time::Needed).as_deref(), &ttls),
                done: self.swarm.is_done(arm.index),
                live: self.lab.live(arm, &self.swarm, self.knobs.hold),
                first_error: collector.first_error.clone(),
                later: Vec::new(),
                figures,
            }
        };
        let arms = self.arms.iter().map(arm_view).collect();
        // When the load has ended, we end the clients ourselves.
        let with_clients = matches!(self.stage.phase, Phase::WarmUp | Phase::Running);
        let snapshot = Snapshot {
            number: before.number + 1,
            scenario: Arc::clone(&self.scenario),
            server: Arc::clone(&self.lab.server_name),
            phase: self.stage.phase.clone(),
            elapsed,
            hosts: self.lab.host_views(&self.arms, now),
            servers: self.swarm.views(with_clients.then_some(&*self.lab.handle), now),
            arms,
            events: self.log.newest(),
            caption: self.stage.caption.clone(),
            knobs: self.knobs,
            act: self.stage.act.clone(),
            next: self.faults.schedule.next().filter(|_| is_on),
            held: self.faults.schedule.is_held() && is_on,
            ends_at: self.end().map(|end| seconds(self.timing.origin, end)),
            gives_up_in: self.stage.gives_up_at.map(|until| until.saturating_duration_since(now)),
            caveats: self.log.warnings().to_vec(),
            processor_wait: self.machine.processor_wait,
            used_by_others: self.machine.used_by_others,
            partial: self.all_missing(),
        };
        self.snapshots.send_replace(Arc::new(snapshot));
    }
}
