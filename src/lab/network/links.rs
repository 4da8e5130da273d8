//! Faults of the connections between hosts, and their undoing. Each is verified by what passes over them: what is published
//! at a master and heard at its replicas, and PINGs that are sent as Sentinels send theirs.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

use crate::error::LabError;
use crate::findings::{self, Found};
use crate::imposed::Imposed;
use crate::lab::Lab;
use crate::network::gauge::{Gauge, What};
use crate::proxy::{Hindrance, Network, Proxy};
use crate::server::node_name::{NodeName, Role};
use lockstorm_data::model::{
    Action, Condition, Conditions, Fault, Finding, Link, Observer, ReplicationRole, Target, Verified,
};

/// How long nothing must come over a connection that carried an answer before, besides what is due to its delay.
const SILENCE: Duration = Duration::from_millis(300);
/// An effect that takes longer than this is reported as late: a replica may have to read everything anew.
const LIMIT: Duration = Duration::from_secs(10);
/// How long an answer may take, without what is due to the network.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long it is tried to find somebody who uses a link.
const PATIENCE: Duration = Duration::from_secs(2);
/// A new connection needs so many round trips.
const ROUND_TRIPS: u32 = 4;
/// The pause before everything is measured again.
const PAUSE: Duration = Duration::from_millis(20);

impl Lab {
    /// What is wrong with a link: what the lab has done to it.
    pub fn link_conditions(&self, link: Link) -> Conditions<Instant> {
        self.links.get(link).conditions()
    }

    /// The links to which the lab has done something that lasts.
    pub fn broken_links(&self) -> Vec<Link> {
        self.links.broken()
    }

    /// Carries out `action` on a link, and returns when its effect is verified on every connection of it that can be measured:
    /// what passes over it is as late as it should be, nothing comes for a while, or something comes again.
    ///
    /// # Errors
    /// The action makes no sense in the link's state, or nobody can measure it. After [`LabError::NotYet`] the effect may still
    /// come; [`Lab::link_comes_true`] waits for it.
    pub async fn apply_to_link(&self, action: Action, link: Link) -> Result<Verified<Instant>, LabError> {
        let (target, state) = (Target::Link(link), self.links.get(link));
        let _turn = state.turn.lock().await;
        self.admit(action, target, &state.conditions())?;
        let proxy = self.proxy.as_ref().ok_or(LabError::NoProxy(target))?;
        let limit = limit(action, &state);
        let late = || Err(LabError::NotYet { within: limit });
        match action {
            Action::Fault(fault) => {
                // Opened before: only a connection that carried something can show that it carries nothing any more.
                let mut gauges = self.gauges(proxy, link, fault).await;
                let end = Instant::now() + PATIENCE;
                // Nodes that have been asked on a busy machine may be late.
                while gauges.is_empty() && Instant::now() < end {
                    sleep(PAUSE).await;
                    gauges = self.gauges(proxy, link, fault).await;
                }
                if gauges.is_empty() {
                    return Err(LabError::Unmeasurable { action, target });
                }
                proxy.enter(target, fault);
                let done = timeout(limit, self.shown(proxy, gauges)).await;
                let Ok(found) = done else { return late() };
                verified_fault(proxy, &state, fault, target, found)
            }
            Action::Undo(condition) => {
                proxy.leave(target, condition);
                let healed = timeout(limit, self.link_comes_true(action, link)).await;
                healed.unwrap_or_else(|_| late())
            }
        }
    }

    /// Waits until the effect of an action on a link is verified, however long that takes.
    ///
    /// # Errors
    /// The lab has no proxy, or the fault can't be measured any more.
    pub async fn link_comes_true(&self, action: Action, link: Link) -> Result<Verified<Instant>, LabError> {
        let (target, state) = (Target::Link(link), self.links.get(link));
        let proxy = self.proxy.as_ref().ok_or(LabError::NoProxy(target))?;
        let condition = match action {
            Action::Undo(condition) => condition,
            Action::Fault(fault) => {
                let gauges = self.gauges(proxy, link, fault).await;
                let found = self.shown(proxy, gauges).await;
                return verified_fault(proxy, &state, fault, target, found);
            }
        };
        loop {
            let mut candidates = self.candidates(proxy, link).await;
            // Another fault may keep a part of it cut; nothing can be heard there.
            candidates.retain(|what| !what.state(|path| proxy.state(path)).cut);
            if candidates.is_empty() {
                // Nobody uses it now. It is in order all the same.
                let finding = match condition {
                    Condition::Cut => Finding::NoCut,
                    Condition::Down
                    | Condition::Paused
                    | Condition::Lagging
                    | Condition::Skewed
                    | Condition::Degraded => Finding::NoDelay,
                };
                let mut found = Found::on(target.to_string());
                found.add(finding, Observer::Proxy);
                return Ok(verified(&state, action, vec![found]));
            }
            let measuring = candidates.into_iter().map(async |what| {
                let present = what.state(|path| proxy.state(path));
                let most = match condition {
                    Condition::Lagging => present.delay + state.lag().0,
                    Condition::Down | Condition::Paused | Condition::Cut | Condition::Skewed | Condition::Degraded => {
                        Duration::MAX
                    }
                };
                let mut gauge = opened(what, present.delay).await?;
                let took = gauge.measure(present.delay + ANSWER_TIMEOUT).await.ok()??;
                (took < most).then(|| gauge.found(Instant::now(), Ok(took)))
            });
            let found: Option<Vec<Found>> = join_all(measuring).await.into_iter().collect();
            if let Some(found) = found {
                return Ok(verified(&state, action, found));
            }
            sleep(PAUSE).await;
        }
    }

    /// Open connections over a link that carry something now, and on which this fault acts.
    async fn gauges(&self, proxy: &Proxy, link: Link, fault: Fault) -> Vec<Gauge> {
        let mut candidates = self.candidates(proxy, link).await;
        let mut network = Network::default();
        network.enter(Target::Link(link), fault);
        candidates.retain(|what| what.state(|path| network.state(path)) != Hindrance::default());
        // A message shows the delay of its way alone.
        if candidates.iter().any(|what| matches!(what, What::Message { .. })) {
            candidates.retain(|what| !matches!(what, What::Confirmation { .. }));
        }
        let opening = candidates.into_iter().map(async |what| {
            let present = what.state(|path| proxy.state(path));
            let mut gauge = opened(what, present.delay).await?;
            let carried = gauge.measure(present.delay + ANSWER_TIMEOUT).await;
            carried.ok().flatten().map(|_| gauge)
        });
        join_all(opening).await.into_iter().flatten().collect()
    }

    /// Waits until each of these connections shows what the network does to it. Those whose nodes are gone show nothing.
    async fn shown(&self, proxy: &Proxy, gauges: Vec<Gauge>) -> Vec<Found> {
        let measuring = gauges.into_iter().map(async |mut gauge| {
            let present = gauge.what().state(|path| proxy.state(path));
            let limit = if present.cut { SILENCE } else { ANSWER_TIMEOUT } + present.delay;
            loop {
                // Nothing has come since the measurement before.
                let since = Instant::now();
                match gauge.measure(limit).await.ok()? {
                    Some(took) if !present.cut && took >= present.delay => {
                        return Some(gauge.found(since, Ok(took)));
                    }
                    None if present.cut => return Some(gauge.found(since, Err(limit))),
                    // It was under way before, or the machine is busy.
                    Some(_) | None => {}
                }
            }
        });
        join_all(measuring).await.into_iter().flatten().collect()
    }

    /// Everything that can be measured over a link now.
    async fn candidates(&self, proxy: &Proxy, link: Link) -> Vec<What> {
        if let Link::Route(server, host) = link {
            let callee = NodeName::on(host, Role::Lock);
            let node = self.nodes.get(callee).filter(|_| self.node_state(callee).is_up());
            // By the door of all others nobody could tell whose connection it is.
            let has_own = proxy.route(callee, Some(server)).is_some();
            let door = node
                .filter(|_| has_own)
                .and_then(|node| self.door_of(node, Some(server)));
            return door
                .map(|door| What::Route { server, callee, door })
                .into_iter()
                .collect();
        }
        let up = |name: &NodeName| self.node_state(*name).is_up();
        let node = |name: NodeName| Some((name, self.address(name)?));
        let crosses = |one: NodeName, other: NodeName| match link {
            Link::Between(a, b) => [(a, b), (b, a)]
                .map(|(a, b)| (Some(a), Some(b)))
                .contains(&(one.host, other.host)),
            Link::Replication | Link::Sentinels => one.host != other.host,
            Link::Route(..) => false,
        };
        let of_role = |role| self.nodes.of(role).map(|node| node.name).filter(up);
        let mut found = Vec::new();
        if link != Link::Replication {
            let callees: Vec<NodeName> = of_role(Role::Replicated).collect();
            for caller in of_role(Role::Sentinel) {
                let callees = callees.iter().copied().filter(|callee| crosses(caller, *callee));
                found.extend(callees.filter_map(|callee| {
                    let door = self.address(callee)?.at(proxy.door(callee)?);
                    Some(What::Ping { caller, callee, door })
                }));
            }
        }
        if link == Link::Sentinels {
            return found;
        }
        let roles = self.replication_roles().await;
        let masters = roles
            .iter()
            .filter(|(_, role)| matches!(role, ReplicationRole::Master { .. }));
        for (&master, _) in masters {
            let follows = |role: &ReplicationRole| matches!(role, ReplicationRole::Replica { master: host, .. } if *host == master.host);
            let replicas = roles.iter().filter(|(_, role)| follows(role)).map(|(name, _)| *name);
            let replicas: Vec<NodeName> = replicas.collect();
            let mut is_hit = false;
            for &replica in replicas.iter().filter(|replica| crosses(master, **replica)) {
                let ends = node(master).zip(node(replica));
                found.extend(ends.map(|(master, replica)| What::Message { master, replica }));
                is_hit = true;
            }
            let master = node(master).filter(|_| is_hit);
            found.extend(master.map(|master| What::Confirmation { master, replicas }));
        }
        found
    }
}

/// How long an action on a link may take to show: a long delay takes long to measure.
fn limit(action: Action, state: &Imposed) -> Duration {
    let delay = match action {
        Action::Fault(Fault::Lag { delay, .. }) => delay,
        Action::Fault(_) => Duration::ZERO,
        Action::Undo(_) => state.lag().0,
    };
    LIMIT + delay * ROUND_TRIPS
}

/// Notes that an action on a link has taken effect: since it is so on each of these connections.
fn verified(state: &Imposed, action: Action, found: Vec<Found>) -> Verified<Instant> {
    let verified = findings::verified(found);
    state.undergo(action, verified.at);
    verified
}

/// Notes that a fault has taken effect, or ends it if nothing has shown it.
fn verified_fault(
    proxy: &Proxy,
    state: &Imposed,
    fault: Fault,
    target: Target,
    found: Vec<Found>,
) -> Result<Verified<Instant>, LabError> {
    let action = Action::Fault(fault);
    if !found.is_empty() {
        return Ok(verified(state, action, found));
    }
    if let Some(condition) = fault.brings() {
        proxy.leave(target, condition);
    }
    Err(LabError::Unmeasurable { action, target })
}

/// A gauge whose connections take this much longer there and back.
async fn opened(what: What, delay: Duration) -> Option<Gauge> {
    let limit = delay * ROUND_TRIPS + ANSWER_TIMEOUT;
    timeout(limit, Gauge::open(what)).await.ok()?.ok()
}
