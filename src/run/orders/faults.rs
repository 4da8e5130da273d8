use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;

use crate::orders::effect::Effect;
use crate::schedule::{Due, Schedule};
use crate::swarm::{AppServer, SwarmError};
use lockstorm_data::model::{Action, HostId, Link, Observer, OrderId, ServerId, Target};
use lockstorm_data::scenario::FaultSpec;
use lockstorm_lab::{Lab, LabError};

/// The faults of a run: the schedule, and the actions under way on hosts and app servers.
#[derive(Debug)]
pub(crate) struct Faults {
    pub schedule: Schedule,
    /// The orders that have added a fault to the schedule, by its number.
    pub orders: HashMap<usize, OrderId>,
    /// The app servers that are paused.
    pub paused: HashMap<ServerId, Paused>,
    reports: mpsc::UnboundedSender<Report>,
    inbox: mpsc::UnboundedReceiver<Report>,
}

/// Where in the lab an action takes place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Host(HostId),
    Link(Link),
}

/// An app server that is paused.
#[derive(Debug)]
pub(crate) struct Paused {
    pub since: Instant,
    /// The event of that.
    pub event: u64,
    /// How many locks it holds, for each arm.
    pub held: Vec<usize>,
}

/// The result of one action on one target.
#[derive(Debug)]
pub(crate) struct Report {
    /// The event that announced it.
    pub event: u64,
    /// The scheduled fault that it belongs to.
    pub due: Option<Due>,
    pub action: Action,
    pub target: Target,
    /// For each arm, the locks whose key was on the host before it was brought back.
    pub held: Vec<(usize, u64)>,
    pub effect: Effect,
}

impl Faults {
    pub fn new(faults: &[FaultSpec]) -> Self {
        let (reports, inbox) = mpsc::unbounded_channel();
        Self {
            schedule: Schedule::new(faults),
            orders: HashMap::new(),
            paused: HashMap::new(),
            reports,
            inbox,
        }
    }

    /// The next result of an action.
    pub async fn report(&mut self) -> Report {
        match self.inbox.recv().await {
            Some(report) => report,
            // Not reached: this struct holds a sender itself.
            None => std::future::pending().await,
        }
    }

    /// Starts an action in the lab, outside the run's loop: a node may take long to save and end. A late effect is reported
    /// as late, and again once it is verified.
    pub fn in_lab(
        &self,
        lab: Arc<Lab>,
        action: Action,
        place: Place,
        report: impl Fn(Effect) -> Report + Send + 'static,
    ) {
        let reports = self.reports.clone();
        let scheduled = report(Effect::Late(String::new())).due.is_some();
        tokio::spawn(async move {
            let mut done = match place {
                Place::Host(host) => lab.apply(action, host).await,
                Place::Link(link) => lab.apply_to_link(action, link).await,
            };
            if let Err(LabError::NotYet { within }) = done {
                let limit = format!("not verified within {} s", within.as_secs());
                let _ = reports.send(report(Effect::Late(limit)));
                done = match place {
                    Place::Host(host) => lab.comes_true(action, host).await,
                    Place::Link(link) => lab.link_comes_true(action, link).await,
                };
            }
            let effect = match done {
                Ok(verified) => Effect::Verified(verified),
                Err(LabError::Impossible { obstacle, .. }) if scheduled && obstacle.is_done() => {
                    let (by, of) = match place {
                        Place::Host(host) => (Observer::Keeper, host.to_string()),
                        Place::Link(link) => (Observer::Proxy, Target::Link(link).to_string()),
                    };
                    Effect::already(&obstacle, by, of)
                }
                Err(error) => Effect::Failed(error.to_string()),
            };
            // If nobody listens, the run is over.
            let _ = reports.send(report(effect));
        });
    }

    /// Starts an action on an app server, outside the run's loop. It fails if there is no such app server (`None`).
    pub fn on_server(
        &self,
        server: Option<&AppServer>,
        action: Action,
        id: ServerId,
        report: impl Fn(Effect) -> Report + Send + 'static,
    ) {
        let reports = self.reports.clone();
        let scheduled = report(Effect::Late(String::new())).due.is_some();
        let Some(server) = server else {
            let _ = reports.send(report(Effect::Failed(format!("there is no {id}"))));
            return;
        };
        let done = server.apply(action);
        tokio::spawn(async move {
            let effect = match done.await {
                Ok(verified) => Effect::Verified(verified),
                Err(SwarmError::Impossible { obstacle, .. }) if scheduled && obstacle.is_done() => {
                    Effect::already(&obstacle, Observer::AppServer, id.to_string())
                }
                Err(error) => Effect::Failed(error.to_string()),
            };
            let _ = reports.send(report(effect));
        });
    }
}
