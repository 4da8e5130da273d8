use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use crate::close::flaws::Flaws;
use crate::collect::arm::Arm;
use crate::collect::timing::Timing;
use crate::collect::totals::{ArmState, Intakes};
use crate::engine::preparation::{Preparation, enough_connections};
use crate::error::RunError;
use crate::orders::faults::Faults;
use crate::orders::turned::Turned;
use crate::show::events::EventLog;
use crate::show::publisher::Publisher;
use crate::show::snapshot::{Knobs, Phase, Snapshot};
use crate::show::stage::Stage;
use crate::swarm::live::LiveSwarm;
use crate::swarm::{AppServer, Load};
use crate::watch::clock_watch::ClockWatch;
use crate::watch::cluster::LiveCluster;
use crate::watch::disk_watch::DiskWatch;
use crate::watch::lab::LiveLab;
use crate::watch::offsets::Offsets;
use crate::watch::processes::LabWatch;
use crate::watch::stall_watch::StallWatch;
use crate::workload::{Hurry, LiveSettings};
use lockstorm_data::metrics::{Figures, Metric, NodeLoad, Timeline};
use lockstorm_data::model::EventKind;
use lockstorm_data::scenario::{Scenario, Voter};
use lockstorm_lab::{Lab, ServerBinary};
use lockstorm_lock::Gauges;

/// A run from its lab to its record. It lives on one thread and owns everything that app servers don't.
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
    pub flaws: Flaws,
    pub log: EventLog,
    pub warnings: Vec<String>,
    pub publisher: Publisher,
    pub clock: ClockWatch,
    pub stall: StallWatch,
    pub disk: DiskWatch,
}

impl Engine {
    /// Makes the arms and starts the app servers. No worker begins yet.
    pub async fn start(
        scenario: Arc<Scenario>,
        binary: &ServerBinary,
        lab: Arc<Lab>,
        snapshots: watch::Sender<Arc<Snapshot>>,
        hurry: Hurry,
    ) -> Result<Self, RunError> {
        let (live_settings, knobs) = (Arc::new(LiveSettings::default()), snapshots.borrow().knobs);
        enough_connections(&scenario).await?;
        let timeline = Arc::new(Timeline::new());
        let load = Load::new(&scenario, &timeline);
        let preparation = Preparation {
            scenario: &scenario,
            lab: &lab,
            live_settings: &live_settings,
            timeline: &timeline,
            load: &load,
            hurry: &hurry,
        };
        let (arms, servers) = preparation.start().await?;
        let origin = Instant::now();
        Ok(Self {
            faults: Faults::new(&scenario.faults),
            disk: DiskWatch::start(lab.dir().to_owned()),
            lab: LiveLab {
                watch: LabWatch::new(&lab),
                stats: BTreeMap::new(),
                roles: BTreeMap::new(),
                offsets: Offsets::default(),
                last_masters: Vec::new(),
                called_masters: BTreeSet::new(),
                sole_master: None,
                new_master: None,
                cluster: LiveCluster::default(),
                handle: lab,
                server_name: match scenario.lab.are_ours() {
                    true => binary.to_string().into(),
                    false => "servers not ours".into(),
                },
            },
            swarm: LiveSwarm {
                servers,
                load,
                hurry,
                live_settings,
            },
            stall: StallWatch::new(&scenario.arms),
            scenario,
            arms,
            knobs,
            turned: Turned::default(),
            timing: Timing {
                timeline,
                origin,
                second_zero: None,
            },
            stage: Stage {
                phase: Phase::WarmUp,
                caption: None,
                gives_up_at: None,
                waits_for_nothing: false,
            },
            flaws: Flaws::default(),
            log: EventLog::new(origin),
            warnings: Vec::new(),
            publisher: Publisher::new(snapshots),
            clock: ClockWatch::new(),
        })
    }

    /// Says what a viewer should look at from now on, unless it is what was said last.
    pub(crate) fn say(&mut self, caption: Option<String>) {
        let Some(caption) = caption.map(Arc::<str>::from) else {
            return;
        };
        if self.stage.caption.as_ref() != Some(&caption) {
            self.log.push(EventKind::Caption, &*caption);
            self.stage.caption = Some(caption);
        }
    }

    pub(crate) fn warn(&mut self, text: String) {
        self.log.push(EventKind::Warning, text.clone());
        self.warnings.push(text);
    }

    pub(crate) fn figures(&self, arm: usize) -> Figures {
        let intakes = |(index, server): (usize, &AppServer)| Intakes {
            dealt: self.swarm.load.dealt(index, arm),
            killed: server.is_dead(),
        };
        let attempts = self.swarm.servers.iter().filter_map(|server| server.gauges(arm));
        self.arms[arm].collector.figures(ArmState {
            incomplete: !self.arms[arm].missing.is_empty(),
            elapsed: self.elapsed(),
            done: self.swarm.load.all_handed_out(arm) && self.swarm.is_done(arm),
            held: self.swarm.held(arm),
            servers: self.swarm.servers.iter().enumerate().map(intakes).collect(),
            dropped: self.swarm.load.dropped(),
            attempts: attempts.map(Gauges::attempts).sum(),
            new_masters: self.arms[arm].new_masters,
            lost_at_failover: self.arms[arm].lost_at_failover,
            stuck: self.arms[arm].stuck,
            nodes: self.nodes(arm),
        })
    }

    /// The lock nodes of an arm, with the number of commands that each was sent for it.
    fn nodes(&self, arm: usize) -> Vec<NodeLoad> {
        let spec = &self.arms[arm].spec;
        let load = |(place, voter): (usize, Voter)| {
            let mut load = NodeLoad {
                host: voter.host().map(|host| host.0),
                ..NodeLoad::default()
            };
            for gauges in self.swarm.servers.iter().filter_map(|server| server.gauges(arm)) {
                let sent = gauges.sent(place);
                load.sets += sent.sets;
                load.extends += sent.extends;
                load.deletes += sent.deletes;
            }
            load
        };
        spec.voters(&self.scenario.lab)
            .into_iter()
            .enumerate()
            .map(load)
            .collect()
    }

    /// Seconds of the measured part.
    pub(crate) fn elapsed(&self) -> f64 {
        let now = self.log.seconds(Instant::now());
        let length = self
            .timing
            .timeline
            .length()
            .map_or(f64::INFINITY, |length| length.as_secs_f64());
        now.min(length)
    }

    /// The present figure of an arm, for the conditions of faults.
    pub(crate) fn figure(&self, arm: &str, metric: Metric) -> f64 {
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
}
