//! The start of a run: its arms with their tables, and its app servers.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::collect::arm::Arm;
use crate::collect::live_swarm::LiveSwarm;
use crate::error::RunError;
use crate::store;
use crate::swarm::{AppServer, ArmPlan, ServerPlan};
use crate::under_test::OtherArms;
use lockstorm_data::metrics::{Recorder, RoundTrips};
use lockstorm_data::model::ServerId;
use lockstorm_data::scenario::Scenario;
use lockstorm_lab::Lab;

/// How long it may take to drop the schemas of a run that did not begin.
const TAKE_BACK: Duration = Duration::from_secs(2);

/// Makes the arms and starts the app servers. If that fails or is cancelled, what was made so far is removed.
pub(crate) async fn prepare(
    scenario: &Arc<Scenario>,
    lab: &Arc<Lab>,
    swarm: &mut LiveSwarm,
    other_locks: &OtherArms,
) -> Result<Vec<Arm>, RunError> {
    let mut arms = Vec::new();
    let started = start_all(scenario, lab, swarm, other_locks, &mut arms).await;
    if started.is_err() {
        // A schema that stays is dropped by the next run. That this run did not start is worse news.
        let _ = drop_schemas(&arms, TAKE_BACK).await;
    }
    swarm.servers = started?;
    Ok(arms)
}

async fn start_all(
    scenario: &Arc<Scenario>,
    lab: &Arc<Lab>,
    swarm: &LiveSwarm,
    other_locks: &OtherArms,
    arms: &mut Vec<Arm>,
) -> Result<Vec<AppServer>, RunError> {
    let still_wanted = || match swarm.hurry.all.is_cancelled() {
        true => Err(RunError::Stopped),
        false => Ok(()),
    };
    let timeline = &swarm.load.timeline;
    let mut plans: Vec<Vec<ArmPlan>> = vec![Vec::new(); scenario.swarm.servers];
    for (index, spec) in scenario.arms.iter().enumerate() {
        let recorder = |_: &Vec<ArmPlan>| Arc::new(Recorder::new(Arc::clone(timeline)));
        let recorders: Vec<Arc<Recorder>> = plans.iter().map(recorder).collect();
        still_wanted()?;
        let arm = Arm::prepare(
            scenario,
            lab,
            index,
            spec,
            recorders.clone(),
            timeline,
            swarm.history.as_ref(),
        )
        .await?;
        for (server, (plan, recorder)) in plans.iter_mut().zip(recorders).enumerate() {
            plan.push(ArmPlan {
                spec: arm.spec.clone(),
                database: arm.database.clone(),
                recorder,
                other: other_locks.get(&spec.name).cloned().or_else(|| arm.other.clone()),
                intake: swarm.load.intake(server, index),
            });
        }
        arms.push(arm);
    }
    let mut servers = Vec::new();
    for (index, arms) in plans.into_iter().enumerate() {
        let plan = server_plan(scenario, lab, swarm, index, arms);
        still_wanted()?;
        servers.push(AppServer::start(plan).await?);
    }
    Ok(servers)
}

/// What the app server at position `index` is made from.
pub(crate) fn server_plan(
    scenario: &Arc<Scenario>,
    lab: &Lab,
    swarm: &LiveSwarm,
    index: usize,
    arms: Vec<ArmPlan>,
) -> ServerPlan {
    ServerPlan {
        id: ServerId::from_index(index),
        scenario: Arc::clone(scenario),
        nodes: lab.follow_lock_nodes_from(Some(ServerId::from_index(index))),
        key_prefix: lab.key_prefix().into(),
        replicated: lab.replicated_nodes(),
        cluster: lab.cluster_nodes(),
        cache: lab.cache(),
        live_settings: swarm.live_settings.clone(),
        hurry: swarm.hurry.clone(),
        stalls: Arc::default(),
        history: swarm.history.is_some(),
        arms,
        round_trips: Arc::new(RoundTrips::new(
            lab.lock_nodes().len(),
            Arc::clone(&swarm.load.timeline),
        )),
    }
}

/// Drops the schemas of these arms, all at once and each within `limit`. Returns a message for each that stays.
pub(crate) fn drop_schemas(arms: &[Arm], limit: Duration) -> impl Future<Output = Vec<String>> + Send + use<> {
    let mut removing = JoinSet::new();
    for arm in arms {
        let database = Arc::clone(&arm.database);
        removing.spawn(async move { database.remove(limit).await });
    }
    async move { removing.join_all().await.into_iter().filter_map(Result::err).collect() }
}

/// Refuses a scenario that needs more connections than the database can give. Otherwise the run would hang waiting for
/// them.
pub(crate) async fn enough_connections(scenario: &Scenario) -> Result<(), RunError> {
    let free = store::free_connections(&scenario.database).await?;
    let needed = scenario.connections();
    match free {
        Some(free) if needed > free => Err(RunError::Connections { needed, free }),
        _ => Ok(()),
    }
}
