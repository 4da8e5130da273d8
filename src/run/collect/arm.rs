use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::activity::Activity;
use super::announce::Announced;
use super::arm_history::ArmHistory;
use super::auditor::{Auditor, LiveAudit};
use super::collector::Collector;
use super::hold_audit::HoldAudit;
use super::live_swarm::LiveSwarm;
use crate::client::{self, Clients, Complaints, Price};
use crate::error::RunError;
use crate::etcd::EtcdLocks;
use crate::show::notice::Notice;
use crate::store::{ArmDatabase, SessionLocks};
use crate::under_test::OtherLocks;
use crate::workload;
use lockstorm_base::output::Stream;
use lockstorm_data::facts::{Caveat, EventKind, Ledger};
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::metrics::{Consequence, ConsequenceKind, Figures, Recorder, Timeline};
use lockstorm_data::model::HostId;
use lockstorm_data::scenario::{ArmSpec, LockKind, Scenario, StockIn, Voter};
use lockstorm_lab::Lab;

/// One arm, as the run sees it.
pub(crate) struct Arm {
    /// Its position.
    pub index: usize,
    pub spec: Arc<ArmSpec>,
    /// Who votes on its lock.
    pub voters: Vec<Voter>,
    pub collector: Collector,
    pub audit: Option<LiveAudit>,
    pub holds: HoldAudit,
    /// What makes its lock, if it is not one of the engine's.
    pub other: Option<Arc<dyn OtherLocks>>,
    pub complaints: Arc<Complaints>,
    /// What the pipe to them costs.
    price: Option<Price>,
    pub database: Arc<ArmDatabase>,
    pub announced: Announced,
    /// What its clients do, if somebody wants to know.
    pub history: Option<ArmHistory>,
    pub activity: Activity,
    /// What could not be read or finished for this arm.
    pub missing: Vec<Caveat>,
    /// The figures that the run notes itself: what faults meant for its locks, new masters, stuck keys.
    pub noted: Figures,
    /// When there was a new master, or one no longer, and the event that says so.
    changes_of_masters: Vec<(f64, u64)>,
    /// Where its ledger is.
    ledger: Ledger,
}

impl Arm {
    /// Creates the tables and the stock of the arm at position `index`, with one recorder for each app server.
    pub async fn prepare(
        scenario: &Scenario,
        lab: &Arc<Lab>,
        index: usize,
        spec: &ArmSpec,
        recorders: Vec<Arc<Recorder>>,
        timeline: &Arc<Timeline>,
        history: Option<&Stream>,
    ) -> Result<Self, RunError> {
        let arm = Arc::new(spec.clone());
        let store_error = |error| RunError::Store(spec.name.clone(), error);
        let initial = scenario.workload.about().initial();
        let run_id = lab
            .dir()
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let database = ArmDatabase::create(&scenario.database, index, &run_id, lab.dir(), &initial)
            .await
            .map_err(store_error)?;
        let cache = workload::connect_cache(lab.cache(), index).await?;
        let ledger = scenario.workload.about().ledger();
        let in_cache = ledger.is_some_and(|ledger| ledger.stock_in == StockIn::Redis);
        let audit = match ledger {
            Some(ledger) => {
                workload::prepare_cache(&ledger, &cache).await?;
                let store = database.open(1).await.map_err(store_error)?;
                let sales = history.map(|stream| (stream.clone(), Arc::clone(&arm)));
                Some(Auditor::new(ledger, store, cache, Arc::clone(timeline), sales).start())
            }
            None => None,
        };
        let complaints = Arc::<Complaints>::default();
        let is_client = spec.lock == LockKind::Client;
        let other: Option<Arc<dyn OtherLocks>> = match spec.lock {
            LockKind::Client => {
                let (lab, workers) = (Arc::clone(lab), scenario.swarm.workers);
                let clients = Clients::new(lab, Arc::clone(&arm), index, workers, Arc::clone(&complaints));
                Some(Arc::new(clients))
            }
            LockKind::Postgres => Some(Arc::new(
                SessionLocks::new(&scenario.database, run_id).map_err(store_error)?,
            )),
            LockKind::Etcd => Some(Arc::new(EtcdLocks::new(Arc::clone(lab), spec))),
            LockKind::None
            | LockKind::Local
            | LockKind::Single
            | LockKind::Redlock
            | LockKind::Cluster
            | LockKind::Reported => None,
        };
        let price = is_client.then(|| {
            let (lab, servers) = (Arc::clone(lab), scenario.swarm.servers);
            Price::measure(lab, Arc::clone(&arm), index, servers, Arc::clone(timeline))
        });
        let mut holds = HoldAudit::new(spec, scenario.seed);
        holds.servers = is_client.then(|| client::servers(lab, spec));
        Ok(Self {
            other,
            complaints,
            price,
            index,
            spec: Arc::clone(&arm),
            voters: spec.voters(&scenario.lab),
            collector: Collector::new(recorders, Arc::clone(timeline)),
            audit,
            holds,
            database: Arc::new(database),
            announced: Announced::default(),
            history: history.map(|stream| ArmHistory::new(stream.clone(), Arc::clone(&arm))),
            activity: Activity::default(),
            missing: Vec::new(),
            noted: Figures {
                lacks: scenario.lacks(spec),
                ..Figures::default()
            },
            changes_of_masters: Vec::new(),
            ledger: if in_cache { Ledger::CacheNode } else { Ledger::Database },
        })
    }

    /// The hosts that the nodes of its lock are always on.
    pub fn hosts(&self) -> Vec<HostId> {
        self.voters.iter().filter_map(|voter| voter.host()).collect()
    }

    /// Judges who has held its locks since the last look.
    pub fn look_at_holds(&mut self, swarm: &LiveSwarm) {
        let held = swarm.servers.iter().map(|server| server.held_locks(self.index));
        let availability = &mut self.collector.availability;
        availability.set_ttl(swarm.live_settings.ttl(self.spec.ttl));
        self.holds
            .look(held, &swarm.load.timeline, self.history.as_mut(), availability);
    }

    /// Takes in what the keys of its locks have told: how many new ones nobody holds, if that is known, and whether different nodes had
    /// different keys of one lock while two held it.
    pub fn keys_told(&mut self, zombies: Option<u64>, are_apart: bool) -> Option<Notice> {
        if let Some(more) = zombies {
            *self.noted.zombie_keys.get_or_insert(0) += more;
        }
        let arm = self.spec.name.clone();
        // Keys that were lost may explain two holders, too.
        let is_apart = are_apart && !self.holds.has_lost_keys();
        is_apart.then_some(Notice::Once(Caveat::DifferentNodes { arm }))
    }

    /// Takes in what was counted since the last time, what its books say, and who held its locks. `offered` is how many requests were
    /// due in each second, if a dealer deals them.
    pub fn collect(&mut self, swarm: &LiveSwarm, offered: Option<&BTreeMap<i64, u64>>) -> Vec<Notice> {
        self.look_at_holds(swarm);
        let doubles = self.holds.take();
        self.collector.doubles(&doubles);
        let name = &self.spec.name;
        let first = doubles.first.map(|first| {
            Notice::now(EventKind::DoubleHold {
                arm: name.clone(),
                began_us: first.began_us,
                holders: first.holders,
                key: first.key,
            })
        });
        if let Some(offered) = offered {
            self.collector.curves.offered(offered);
        }
        if let Some(audit) = &self.audit {
            let (books, news) = audit.found();
            self.collector.audit(books, &news);
        }
        let ended = self.collector.collect();
        let mut notices: Vec<Notice> = first.into_iter().collect();
        notices.extend(self.announced.look(&self.spec, &self.collector));
        let lacking = &self.collector.last_lacking;
        notices.extend(ended.and_then(|outcomes| self.announced.quorum(&self.spec, outcomes, lacking)));
        notices
    }

    /// What became of its database, and of its books until they are closed.
    pub fn look_at_books(&mut self) -> Vec<Notice> {
        let (name, mut notices) = (&self.spec.name, Vec::new());
        // Nobody knows what became of the requests that used the database then, and those after them had to do their work again.
        if let Some(quoted) = self.collector.lost_database.clone() {
            let arm = name.clone();
            notices.push(Notice::Once(Caveat::DatabaseLost { arm, quoted }));
        }
        if let Some(audit) = &self.audit {
            let unreadable = audit.lost().map(|quoted| {
                let arm = name.clone();
                Notice::Once(Caveat::LedgerUnreadable { arm, quoted })
            });
            notices.extend(unreadable);
            notices.extend(self.announced.silence(&self.spec, self.ledger, audit.silent()));
        }
        notices
    }

    /// Notes the progress of its requests.
    pub fn note_progress(&mut self, swarm: &LiveSwarm, now: Instant) {
        let failed = swarm.failed_attempts(self.index);
        self.activity
            .note(now, self.collector.totals.measured.counts.answered(), failed);
    }

    /// Its figures after so many seconds of the measured part; with the quantiles of `earlier` figures, if there are some.
    pub fn figures(&self, swarm: &LiveSwarm, elapsed: f64, earlier: Option<&Figures>) -> Figures {
        let mut figures = Figures {
            incomplete: !self.missing.is_empty(),
            ..self.noted.clone()
        };
        swarm.fill(self.index, &self.voters, &mut figures);
        self.holds.fill(&mut figures);
        self.collector.fill(&mut figures, &swarm.progress(self.index, elapsed));
        self.collector.totals.fill_times(&mut figures, earlier);
        figures.pipe_us = self.price.as_ref().map(Price::quantiles).unwrap_or_default();
        let consequences = figures.consequences.iter_mut().map(|one| (one.at, &mut one.event));
        for (since, event) in consequences {
            let told = self.changes_of_masters.iter().find(|(at, _)| (at - since).abs() < 1e-3);
            *event = event.or(told.map(|(_, event)| *event));
        }
        figures.consequences.sort_by(|one, other| one.at.total_cmp(&other.at));
        figures
    }

    /// Notes what a fault meant for its locks: at which second, by which event.
    pub fn consequence(&mut self, at: f64, event: Option<u64>, kind: ConsequenceKind) {
        self.noted.consequences.push(Consequence { at, event, kind });
    }

    /// Notes the event that told of a new master, or of one that is a replica now.
    pub fn masters_changed(&mut self, at: f64, event: u64) {
        self.changes_of_masters.push((at, event));
        self.collector
            .availability
            .set_event(rounded(at.max(0.0) * 1e6).cast_signed(), event);
    }
}
