use std::sync::Arc;

use crate::collect::activity::Activity;
use crate::collect::auditor::{Auditor, LiveAudit};
use crate::collect::collector::Collector;
use crate::error::RunError;
use crate::oracle::Books;
use crate::store::ArmDatabase;
use crate::workload;
use lockstorm_data::metrics::{Recorder, Timeline};
use lockstorm_data::scenario::{ArmSpec, Scenario};
use lockstorm_lab::Lab;

/// One arm, as the run sees it.
pub(crate) struct Arm {
    pub spec: Arc<ArmSpec>,
    pub collector: Collector,
    pub audit: Option<LiveAudit>,
    pub database: Arc<ArmDatabase>,
    /// Whether there were acquires in the last whole second, and all of them were refused because nodes were missing.
    pub blocked: bool,
    /// Damage that has been announced.
    pub announced: Books,
    /// Whether it has been announced that requests fail.
    pub failing: bool,
    /// Whether it has been announced that this machine holds its sections up.
    pub stalled: bool,
    pub activity: Activity,
    /// Why the run can prove nothing good about this arm: its books were lost for a while, or something is missing.
    pub doubts: Vec<String>,
    /// What could not be read or finished for this arm.
    pub missing: Vec<String>,
    /// Locks that were held when a new master became writable, and that it did not have.
    pub lost_at_failover: u64,
    /// How often a replica became the master of its locks.
    pub new_masters: u64,
    /// Keys that nobody held and that could not be had at the end, if that was tried.
    pub stuck: Option<u64>,
    /// Whether it has been announced that the arm's database, or the cache node, does not answer.
    pub silent: bool,
}

impl Arm {
    /// Creates the tables and the stock of the arm at position `index`, with one recorder for each app server.
    pub async fn prepare(
        scenario: &Scenario,
        lab: &Lab,
        index: usize,
        spec: &ArmSpec,
        recorders: Vec<Arc<Recorder>>,
        timeline: &Arc<Timeline>,
    ) -> Result<Self, RunError> {
        let store_error = |error| RunError::Store(spec.name.clone(), error);
        let initial = scenario.workload.initial();
        let run_id = lab
            .dir()
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let database = ArmDatabase::create(&scenario.database, index, &run_id, lab.dir(), &initial)
            .await
            .map_err(store_error)?;
        let cache = workload::connect_cache(lab.cache(), index).await?;
        let audit = match scenario.workload.ledger() {
            Some(ledger) => {
                workload::prepare_cache(&ledger, &cache).await?;
                let store = database.open(1).await.map_err(store_error)?;
                Some(Auditor::new(ledger, store, cache, Arc::clone(timeline)).start())
            }
            None => None,
        };
        Ok(Self {
            spec: Arc::new(spec.clone()),
            collector: Collector::new(recorders, Arc::clone(timeline)),
            audit,
            database: Arc::new(database),
            blocked: false,
            announced: Books::default(),
            failing: false,
            stalled: false,
            activity: Activity::default(),
            doubts: Vec::new(),
            missing: Vec::new(),
            new_masters: 0,
            lost_at_failover: 0,
            stuck: None,
            silent: false,
        })
    }
}
