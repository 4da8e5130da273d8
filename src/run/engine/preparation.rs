//! The start of a run: its arms with their tables, and its app servers.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::collect::arm::Arm;
use crate::error::RunError;
use crate::store::{self, ArmDatabase};
use crate::swarm::{AppServer, ArmPlan, Load, ReplicatedNodes, ServerPlan};
use crate::workload::{Hurry, LiveSettings};
use lockstorm_data::metrics::{Recorder, RoundTrips, Timeline};
use lockstorm_data::model::ServerId;
use lockstorm_data::scenario::Scenario;
use lockstorm_lab::{Lab, MASTER_NAME};

/// How long it may take to drop the schemas of a run that did not begin.
const TAKE_BACK: Duration = Duration::from_secs(2);

/// What the arms and app servers of a run are made from.
pub(crate) struct Preparation<'a> {
    pub scenario: &'a Scenario,
    pub lab: &'a Lab,
    pub live_settings: &'a Arc<LiveSettings>,
    pub timeline: &'a Arc<Timeline>,
    pub load: &'a Load,
    /// Gives up everything when the run is stopped before its load begins.
    pub hurry: &'a Hurry,
}

impl Preparation<'_> {
    /// Makes the arms and starts the app servers. If that fails or is cancelled, what was made so far is removed.
    pub async fn start(&self) -> Result<(Vec<Arm>, Vec<AppServer>), RunError> {
        let mut arms = Vec::new();
        match self.start_all(&mut arms).await {
            Ok(servers) => Ok((arms, servers)),
            Err(error) => {
                // A schema that stays is dropped by the next run. That this run did not start is worse news.
                let _ = drop_schemas(arm_databases(&arms), TAKE_BACK).await;
                Err(error)
            }
        }
    }

    async fn start_all(&self, arms: &mut Vec<Arm>) -> Result<Vec<AppServer>, RunError> {
        let (scenario, swarm) = (self.scenario, &self.scenario.swarm);
        let mut plans: Vec<Vec<ArmPlan>> = vec![Vec::new(); swarm.servers];
        for (index, spec) in scenario.arms.iter().enumerate() {
            let recorder = |_: &Vec<ArmPlan>| Arc::new(Recorder::new(Arc::clone(self.timeline)));
            let recorders: Vec<Arc<Recorder>> = plans.iter().map(recorder).collect();
            self.still_wanted()?;
            let arm = Arm::prepare(scenario, self.lab, index, spec, recorders.clone(), self.timeline).await?;
            for (server, (plan, recorder)) in plans.iter_mut().zip(recorders).enumerate() {
                let (spec, database) = (arm.spec.clone(), arm.database.clone());
                plan.push(ArmPlan::new(spec, database, recorder, self.load, [server, index]));
            }
            arms.push(arm);
        }
        let mut servers = Vec::new();
        for (index, arms) in plans.into_iter().enumerate() {
            let plan = self.server_plan(index, arms);
            self.still_wanted()?;
            servers.push(AppServer::start(plan).await?);
        }
        Ok(servers)
    }

    /// What the app server at position `index` is made from.
    pub fn server_plan(&self, index: usize, arms: Vec<ArmPlan>) -> ServerPlan {
        let (scenario, swarm) = (self.scenario, &self.scenario.swarm);
        ServerPlan {
            id: ServerId::from_index(index),
            workers: swarm.workers,
            servers: swarm.servers,
            ramp: swarm.ramp,
            nodes: self.lab.follow_lock_nodes(),
            key_prefix: self.lab.key_prefix().into(),
            replicated: self.replicated(),
            cluster: self.lab.cluster_nodes(),
            cache: self.lab.cache(),
            workload: Arc::new(scenario.workload.clone()),
            database: Arc::new(scenario.database.clone()),
            live_settings: self.live_settings.clone(),
            seed: scenario.seed,
            hurry: self.hurry.clone(),
            stalls: Arc::default(),
            arms,
            round_trips: Arc::new(RoundTrips::new(self.lab.lock_nodes().len(), Arc::clone(self.timeline))),
        }
    }

    fn replicated(&self) -> Option<ReplicatedNodes> {
        let (sentinels, first_master) = self.lab.replicated_nodes()?;
        Some(ReplicatedNodes {
            sentinels,
            master_name: MASTER_NAME,
            first_master,
        })
    }

    fn still_wanted(&self) -> Result<(), RunError> {
        if self.hurry.is_all() {
            return Err(RunError::Stopped);
        }
        Ok(())
    }
}

/// The databases of these arms.
pub(crate) fn arm_databases(arms: &[Arm]) -> Vec<Arc<ArmDatabase>> {
    arms.iter().map(|arm| Arc::clone(&arm.database)).collect()
}

/// Drops schemas, all at once and each within `limit`. Returns a message for each that stays.
pub(crate) async fn drop_schemas(databases: Vec<Arc<ArmDatabase>>, limit: Duration) -> Vec<String> {
    let mut removing = JoinSet::new();
    for database in databases {
        removing.spawn(async move { database.remove(limit).await });
    }
    let removed = removing.join_all().await;
    removed.into_iter().filter_map(Result::err).collect()
}

/// Refuses a scenario that needs more connections than the database can give. Otherwise the run would hang waiting for
/// them.
pub(crate) async fn enough_connections(scenario: &Scenario) -> Result<(), RunError> {
    let Some(free) = store::free_connections(&scenario.database)
        .await
        .map_err(RunError::Database)?
    else {
        return Ok(());
    };
    let needed = scenario.connections();
    if needed > free {
        return Err(RunError::Connections { needed, free });
    }
    Ok(())
}
