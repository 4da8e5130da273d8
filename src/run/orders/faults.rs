//! What is under way: orders, and what becomes of them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::came_back::{CameBack, Returning};
use crate::schedule::{Due, Schedule};
use crate::swarm::{AppServer, SwarmError};
use crate::watch::lacks::ArmLocks;
use lockstorm_data::facts::NoEffect;
use lockstorm_data::model::{Action, Finding, HostId, Observer, Obstacle, OrderId, Proof, ServerId, Target, Verified};
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

/// An app server that is paused.
#[derive(Debug)]
pub(crate) struct Paused {
    pub since: Instant,
    /// The event of that.
    pub event: u64,
    /// How many locks it holds, for each arm.
    pub held: Vec<usize>,
}

/// An action on a target that is under way.
#[derive(Debug, Clone)]
pub(crate) struct FaultOrder {
    /// The event that announced it.
    pub event: u64,
    /// The scheduled fault that it belongs to.
    pub due: Option<Due>,
    pub action: Action,
    pub target: Target,
    /// Of a host that comes back: whether it keeps nothing, and the locks that it may have forgotten.
    pub may_forget: Option<(bool, Vec<ArmLocks>)>,
}

/// What has become of an order.
#[derive(Debug)]
pub(crate) struct Report {
    pub order: FaultOrder,
    pub effect: Effect,
    /// What the nodes lack that are back by it.
    pub came_back: Vec<CameBack>,
}

impl FaultOrder {
    /// What has become of it. What was scheduled may be so already, no matter who brought it there.
    fn effect<E: fmt::Display>(
        &self,
        done: Result<Verified<Instant>, E>,
        obstacle: impl FnOnce(&E) -> Option<&Obstacle>,
    ) -> Effect {
        let error = match done {
            Ok(verified) => return Effect::Verified(verified),
            Err(error) => error,
        };
        let is_so = |obstacle: &&Obstacle| self.due.is_some() && obstacle.is_done();
        let Some(obstacle) = obstacle(&error).filter(is_so) else {
            return Effect::failed(error);
        };
        let (at, condition) = (Instant::now(), obstacle.was());
        let proof = Proof {
            finding: Finding::AlreadySo { condition },
            by: match self.target {
                Target::Host(_) => Observer::Keeper,
                Target::Link(_) => Observer::Proxy,
                Target::Client(_) => Observer::Keeper,
                Target::Server(_) => Observer::AppServer,
            },
            of: self.target.to_string(),
            at,
        };
        Effect::Verified(Verified { at, proof: vec![proof] })
    }
}

/// The result of an action.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Its effect was verified.
    Verified(Verified<Instant>),
    /// There is none: it failed, or was not verified within its limit, and the run keeps waiting for it.
    Not(NoEffect),
}

impl Effect {
    /// The action failed for this reason.
    pub fn failed(why: impl fmt::Display) -> Self {
        let quoted = why.to_string();
        Self::Not(NoEffect::Failed { quoted })
    }

    /// Whether it may still come.
    pub const fn is_late(&self) -> bool {
        matches!(self, Self::Not(NoEffect::NotVerified { .. }))
    }

    /// The host whose node took writes as a master after a failover. A Sentinel may have chosen another one than expected.
    pub fn new_master(&self) -> Option<HostId> {
        let Self::Verified(verified) = self else { return None };
        verified.proof.iter().find_map(|proof| match proof.finding {
            Finding::TakesWrites { host } => Some(host),
            _ => None,
        })
    }

    /// Whether the target was in the wanted state before the action.
    pub fn was_there(&self) -> bool {
        let is_so = |proof: &Proof<Instant>| matches!(proof.finding, Finding::AlreadySo { .. });
        matches!(self, Self::Verified(verified) if verified.proof.iter().any(is_so))
    }
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

    /// The next order with its result.
    pub async fn report(&mut self) -> Report {
        match self.inbox.recv().await {
            Some(report) => report,
            // Not reached: this struct holds a sender itself.
            None => std::future::pending().await,
        }
    }

    /// Carries out an order, outside the run's loop: a node may take long to save and end. A late effect is reported as late,
    /// and again once it is verified.
    pub fn carry_out(&self, order: FaultOrder, lab: Arc<Lab>, servers: &[AppServer]) {
        let (reports, action, target) = (self.reports.clone(), order.action, order.target);
        let on_server = match target {
            Target::Server(id) => servers.get(id.index()).map(|server| Arc::clone(&server.control)),
            Target::Host(_) | Target::Link(_) | Target::Client(_) => None,
        };
        tokio::spawn(async move {
            // If nobody listens, the run is over.
            let report = |effect, came_back| {
                let order = order.clone();
                drop(reports.send(Report {
                    order,
                    effect,
                    came_back,
                }));
            };
            let late = |within: Duration| {
                let within_s = within.as_secs();
                report(Effect::Not(NoEffect::NotVerified { within_s }), Vec::new());
            };
            let mut returning = None;
            let effect = match target {
                Target::Host(host) => {
                    // Not when it is ordered: a kill that was ordered just before may not have taken effect then.
                    let look_first = || {
                        let may_forget = order.may_forget.clone();
                        returning = may_forget.map(|(forgets, arms)| Returning::of(&lab, host, action, forgets, arms));
                    };
                    let mut done = lab.apply_after(action, host, look_first).await;
                    if let Err(LabError::NotYet { within }) = done {
                        late(within);
                        done = lab.comes_true(action, host).await;
                    }
                    order.effect(done, met_in_lab)
                }
                Target::Link(link) => {
                    let mut done = lab.apply_to_link(action, link).await;
                    if let Err(LabError::NotYet { within }) = done {
                        late(within);
                        done = lab.link_comes_true(action, link).await;
                    }
                    order.effect(done, met_in_lab)
                }
                Target::Client(id) => order.effect(lab.apply_to_guests(action, id).await, met_in_lab),
                Target::Server(id) => match on_server {
                    // Its clients are a part of it.
                    Some(control) => match lab.guests_follow(action, id).await {
                        Ok(()) => order.effect(control.apply(action).await, SwarmError::obstacle),
                        Err(error) => Effect::failed(error),
                    },
                    None => Effect::failed(format_args!("there is no {id}")),
                },
            };
            let came_back = match (&returning, &effect) {
                (Some(returning), Effect::Verified(verified)) => returning.look(&lab, verified.at).await,
                _ => Vec::new(),
            };
            report(effect, came_back);
        });
    }
}

const fn met_in_lab(error: &LabError) -> Option<&Obstacle> {
    match error {
        LabError::Impossible { obstacle, .. } => Some(obstacle),
        _ => None,
    }
}
