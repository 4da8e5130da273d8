//! Faults on hosts, and their undoing. Each returns when its effect is proved.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::{FutureExt, join_all, try_join_all};
use tokio::time::{sleep, timeout};

use crate::client::Slot;
use crate::error::LabError;
use crate::faults::told;
use crate::findings::{Found, verified};
use crate::lab::Lab;
use crate::protocol::NodeOrder;
use crate::proxy::Proxy;
use crate::running;
use crate::server::data_files;
use crate::server::node::Node;
use crate::server::node_name::Role;
use crate::server::nodes::Host;
use crate::server::probe;
use crate::topology::etcd::Etcd;
use crate::topology::failover;
use crate::topology::replication;
use lockstorm_data::metrics::in_micros;
use lockstorm_data::model::{
    Action, Condition, Fault, Finding, HostId, How, Observer, Obstacle, Skew, Target, Verified,
};

/// An effect that takes longer than this is reported as late: a node may have to save before it ends, and to load before
/// it answers.
const LIMIT: Duration = Duration::from_secs(10);
/// A late effect is waited for as long as the lab exists, which is never this long.
const FOREVER: Duration = Duration::from_hours(365 * 24);
/// Why an effect can't come any more.
const DOWN_INSTEAD: &str = "it went down instead";
const NO_ANSWER: &str = "it does not answer any more";
/// How long a node may take to answer, without what is due to the network.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// A slow link is measured by what it should carry in such a part of a second, but not less than this.
const TRANSFERS_PER_SECOND: u64 = 10;
const LEAST_TRANSFER: u64 = 64;

/// The pause before something is looked at again that does not show yet what it should.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

impl Lab {
    /// Carries out `action` on all nodes of `host`, and returns when the effect on every one is verified: a killed or shut
    /// down node is reaped and its port refuses connections, a paused one is reported stopped by the kernel, and a resumed
    /// or restarted one answers PING with its data loaded. That the network to it is slow, or not any more, is measured by
    /// the round trip of a PING. A failover ends with a write that the new master has accepted; a Sentinel may choose another
    /// host than this.
    ///
    /// # Errors
    /// The action makes no sense in the host's state, or it failed. After [`LabError::NotYet`] the effect may still come;
    /// [`Lab::comes_true`] waits for it.
    pub async fn apply(&self, action: Action, host: HostId) -> Result<Verified<Instant>, LabError> {
        self.apply_after(action, host, || ()).await
    }

    /// As [`Lab::apply`]. `first` is called when it is this action's turn, after those that were ordered before it, and before it
    /// changes anything.
    ///
    /// # Errors
    /// As [`Lab::apply`].
    pub async fn apply_after(
        &self,
        action: Action,
        host: HostId,
        first: impl FnOnce(),
    ) -> Result<Verified<Instant>, LabError> {
        let nodes = self.nodes.host(host)?;
        let _turn = nodes.imposed.turn.lock().await;
        first();
        self.admit(action, Target::Host(host), &self.state(host).conditions)?;
        if let (Action::Fault(fault @ (Fault::Lag { .. } | Fault::SlowLink { .. })), true) =
            (action, nodes.imposed.refuses())
        {
            // Nobody could measure it.
            let obstacle = Obstacle::First(Condition::Degraded, Fault::Refuse.how());
            return Err(LabError::of(fault.into(), Target::Host(host), obstacle));
        }
        let of_files = matches!(action, Action::Fault(Fault::DiskLoss | Fault::Misconf));
        if of_files && self.nodes.plan.options.binary.is_found() {
            let why = "its servers were started by somebody else, and where they keep their files is not known";
            return Err(LabError::Other(format!("cannot {}: {why}", action.on(host))));
        }
        if let Some(done) = self.told(nodes, action).await {
            return done;
        }
        let mut hit = host;
        match action {
            Action::Fault(Fault::Kill | Fault::PowerLoss | Fault::DiskLoss) => self.order(nodes, NodeOrder::Kill)?,
            Action::Fault(Fault::Shutdown) => self.order(nodes, NodeOrder::ShutDown)?,
            Action::Fault(Fault::Pause) => self.order(nodes, NodeOrder::Pause)?,
            Action::Fault(fault @ (Fault::Lag { .. } | Fault::SlowLink { .. } | Fault::Refuse)) => {
                self.proxy_for(host)?.enter(Target::Host(host), fault);
            }
            Action::Fault(Fault::Clock(skew)) => {
                set_clocks(nodes, skew)?;
                // It can be undone even if it is never proved.
                nodes.imposed.undergo(action, Instant::now());
            }
            Action::Undo(Condition::Skewed) => set_clocks(nodes, Skew::NONE)?,
            Action::Fault(Fault::Failover { by }) => hit = self.fail_over(by, host).await?,
            Action::Undo(Condition::Paused) => self.order(nodes, NodeOrder::Continue)?,
            Action::Undo(Condition::Down) => self.restart(nodes).await.map_err(|error| match error {
                LabError::NotAnswering { waited: within, .. } => LabError::NotYet { within },
                other => other,
            })?,
            Action::Undo(condition @ (Condition::Lagging | Condition::Degraded)) => {
                self.proxy_for(host)?.leave(Target::Host(host), condition);
            }
            Action::Fault(Fault::Cut { .. }) => self.order(nodes, NodeOrder::Leave)?,
            Action::Undo(Condition::Cut) => self.order(nodes, NodeOrder::Rejoin)?,
            // Nodes were told to.
            Action::Fault(_) => {}
        }
        let late = |_| Err(LabError::NotYet { within: LIMIT });
        timeout(LIMIT, self.comes_true(action, hit)).await.unwrap_or_else(late)
    }

    /// Tells the nodes of a host to do this, all at once, if it is something that nodes do themselves. Each kind has limits of its own.
    async fn told(&self, host: &Host, action: Action) -> Option<Result<Verified<Instant>, LabError>> {
        let conditions = host.imposed.conditions();
        let degraded_by = conditions
            .get(Condition::Degraded)
            .and_then(|ongoing| ongoing.how.clone());
        let telling = host.nodes.iter().filter(|node| node.name.role.has_keys()).map(|node| {
            let how = degraded_by.clone();
            async move {
                let mut found = Found::on(node.name.to_string());
                let told = match (action, how) {
                    (Action::Fault(fault), _) => told::begin(node, fault, &mut found).await,
                    (Action::Undo(Condition::Degraded), Some(How::By(fault))) => {
                        told::end(node, fault, &mut found).await
                    }
                    (Action::Undo(_), _) => None,
                };
                let told = told?.map_err(|why| unverified(action, node, &why));
                Some(told.map(|()| found))
            }
        });
        let told: Option<Vec<_>> = join_all(telling).await.into_iter().collect();
        let told: Result<Vec<Found>, LabError> = told?.into_iter().collect();
        Some(match told {
            Ok(found) => {
                let verified = shown(action, host, found);
                if let Ok(verified) = &verified {
                    host.imposed.undergo(action, verified.at);
                }
                verified
            }
            Err(error) => {
                // What may have begun on some of them can be undone.
                if let Action::Fault(_) = action {
                    host.imposed.undergo(action, Instant::now());
                }
                Err(error)
            }
        })
    }

    fn order(&self, host: &Host, order: NodeOrder) -> Result<(), LabError> {
        let mut nodes = host.nodes.iter();
        nodes.try_for_each(|node| self.site.client.order(node.id, order))
    }

    fn proxy_for(&self, host: HostId) -> Result<&Proxy, LabError> {
        let target = Target::Host(host);
        self.proxy.as_ref().ok_or(LabError::NoProxy(target))
    }

    /// Starts the nodes of a host that are down, all at once. One of them may have died by itself while the others kept
    /// running.
    async fn restart(&self, host: &Host) -> Result<(), LabError> {
        let is_down = |node: &&Node| self.node_state(node.name).conditions.has(Condition::Down);
        if let Some(proxy) = &self.proxy {
            proxy.leave(Target::Host(host.id), Condition::Degraded);
        }
        for node in host.nodes.iter().filter(is_down) {
            told::clear(node).map_err(|error| LabError::Other(format!("{} can't be restarted: {error}", node.name)))?;
        }
        let starting = host.nodes.iter().filter(is_down).map(|node| async {
            if let Some((etcd, host)) = node.member()
                && !Etcd::has_data(node.dir())
            {
                etcd.replace(host).await?;
            }
            node.restart(&self.site.client).await?;
            match &self.nodes.plan.spec.replicated {
                Some(spec) if node.name.role == Role::Sentinel => replication::hurry(node, spec).await,
                _ => Ok(()),
            }
        });
        let before: Vec<_> = host.nodes.iter().map(Node::address).collect();
        let result = join_all(starting).await.into_iter().collect();
        // A node that does not answer yet may have moved all the same.
        match host.nodes.iter().map(Node::address).eq(before) {
            true => result,
            false => result.and(running::announce(&self.site.dir, &self.nodes)),
        }
    }

    /// Waits until the effect of an action is verified on every node of the host, however long that takes.
    ///
    /// # Errors
    /// The effect can't come any more: a node is in another state, or the keeper is gone.
    pub async fn comes_true(&self, action: Action, host: HostId) -> Result<Verified<Instant>, LabError> {
        let host = self.nodes.host(host)?;
        // All at once: what time shows would be later on each node.
        let found = try_join_all(host.nodes.iter().map(|node| self.effect_on(host, node, action))).await?;
        let verified = shown(action, host, found)?;
        host.imposed.undergo(action, verified.at);
        Ok(verified)
    }

    /// Waits until an action has taken effect on a node, and returns the proof.
    async fn effect_on(&self, host: &Host, node: &Node, action: Action) -> Result<Found, LabError> {
        let mut found = Found::on(node.name.to_string());
        match action {
            Action::Fault(Fault::Kill | Fault::Shutdown | Fault::PowerLoss | Fault::DiskLoss) => {
                let down = |slot: &Slot| slot.state.conditions.has(Condition::Down);
                self.reaches(node, action, down).await?;
                found.add(Finding::ProcessGone, Observer::Keeper);
                if matches!(action, Action::Fault(Fault::PowerLoss | Fault::DiskLoss)) {
                    told::clear(node).map_err(|error| unverified(action, node, &error.to_string()))?;
                }
                if action == Action::Fault(Fault::PowerLoss) && node.member().is_none() {
                    let bytes = node
                        .lose_unsynced()
                        .map_err(|error| unverified(action, node, &error.to_string()))?;
                    found.add(Finding::Unsynced { bytes }, Observer::Files);
                }
                if action == Action::Fault(Fault::DiskLoss) && node.name.role != Role::Sentinel {
                    let removed = match node.member() {
                        Some(_) => Etcd::remove_data(node.dir()),
                        None => data_files::remove(node.dir()),
                    };
                    let files = removed.map_err(|error| unverified(action, node, &error.to_string()))?;
                    found.add(Finding::FilesGone { files }, Observer::Files);
                }
                let mut refuses = probe::refuses(node.address()).await;
                if let Some(door) = self.door_at(node) {
                    refuses = probe::refuses(door).await;
                }
                found.add(refuses, Observer::Connect);
            }
            Action::Fault(Fault::Pause) => {
                self.reaches(node, action, |slot| !slot.state.is_up()).await?;
                if !self.node_state(node.name).conditions.has(Condition::Paused) {
                    return Err(unverified(action, node, DOWN_INSTEAD));
                }
                found.add(Finding::ProcessStopped, Observer::Keeper);
                // Of a process the kernel has said that it stands still; of a container the engine has.
                if node.is_container() {
                    let (since, silence) = probe::silent(&node.access()).await;
                    found.add_since(since, silence, Observer::Ping);
                }
            }
            Action::Fault(Fault::Lag { .. } | Fault::SlowLink { .. } | Fault::Refuse)
            | Action::Undo(Condition::Lagging | Condition::Degraded) => {
                // Otherwise nothing is sent to it through the proxy, so nothing is late or refused.
                if let Some(door) = self.door_at(node) {
                    self.effect_at_door(host, node, door, action, &mut found).await?;
                }
            }
            Action::Fault(Fault::Clock(_)) | Action::Undo(Condition::Skewed) if !node.name.role.has_keys() => {}
            Action::Fault(Fault::Clock(skew)) => self.shows_time(node, action, skew, &mut found).await?,
            Action::Undo(Condition::Skewed) => self.shows_time(node, action, Skew::NONE, &mut found).await?,
            Action::Fault(Fault::Failover { .. }) if node.name.role != Role::Replicated => {}
            Action::Fault(Fault::Failover { .. }) => {
                failover::takes_writes(node).await;
                found.add(Finding::TakesWrites { host: host.id }, Observer::Write);
            }
            Action::Fault(Fault::Cut { .. }) => {
                self.reaches(node, action, |slot| slot.cut).await?;
                let since = Instant::now();
                found.add(Finding::LeftNetwork, Observer::Keeper);
                found.add_since(since, probe::refuses(node.address()).await, Observer::Connect);
            }
            Action::Undo(Condition::Cut) => {
                self.reaches(node, action, |slot| !slot.cut).await?;
                found.add(Finding::InNetwork, Observer::Keeper);
                node.look_where(&self.site.client);
                // One that is down, or frozen, does not answer in any network.
                if self.node_state(node.name).conditions.answers() {
                    found.add(self.answers(node, action).await?, Observer::Ping);
                }
            }
            Action::Undo(Condition::Paused) => {
                let goes_on = |slot: &Slot| !slot.state.conditions.has(Condition::Paused);
                self.reaches(node, action, goes_on).await?;
                found.add(self.answers(node, action).await?, Observer::Ping);
            }
            Action::Undo(Condition::Down) => {
                found.add(self.answers(node, action).await?, Observer::Ping);
                if let Some(door) = self.door_at(node) {
                    probe::accepts(door).await;
                }
            }
            // Nodes were told to, and have answered.
            Action::Fault(_) => {}
        }
        Ok(found)
    }

    /// Waits until an action on the network has taken effect at the door to a node.
    async fn effect_at_door(
        &self,
        host: &Host,
        node: &Node,
        door: SocketAddr,
        action: Action,
        found: &mut Found,
    ) -> Result<(), LabError> {
        match action {
            Action::Fault(Fault::Refuse) => {
                found.add(probe::refuses(door).await, Observer::Connect);
            }
            Action::Undo(Condition::Degraded) => {
                probe::accepts(door).await;
                found.add(Finding::Accepts { port: door.port() }, Observer::Connect);
            }
            Action::Fault(Fault::SlowLink { bytes_per_second }) => {
                // Beside a load it may take much longer, or for ever.
                let transfer = self
                    .transfer(host, node, bytes_per_second, |took, least| took >= least)
                    .await;
                let (since, transfer) = transfer.ok_or_else(|| unverified(action, node, NO_ANSWER))?;
                found.add_since(since, transfer, Observer::Ping);
            }
            Action::Fault(Fault::Lag { delay, direction }) => {
                let later = delay * direction.times();
                let round_trip = self.round_trip(host, node, later, |took| took >= later).await;
                let (since, round_trip) = round_trip.ok_or_else(|| unverified(action, node, NO_ANSWER))?;
                found.add_since(since, round_trip, Observer::Ping);
            }
            Action::Undo(Condition::Lagging) => {
                if let Some(bytes_per_second) = host.imposed.speed() {
                    match self
                        .transfer(host, node, bytes_per_second, |took, least| took < least)
                        .await
                    {
                        Some((_, transfer)) => found.add(transfer, Observer::Ping),
                        None => found.add(Finding::NoDelay, Observer::Proxy),
                    }
                    return Ok(());
                }
                let later = host.delay();
                match self.round_trip(host, node, later, |took| took < later).await {
                    Some((_, round_trip)) => found.add(round_trip, Observer::Ping),
                    // Its network is in order again, whatever else it suffers from.
                    None => found.add(Finding::NoDelay, Observer::Proxy),
                }
            }
            Action::Fault(_) | Action::Undo(_) => {}
        }
        Ok(())
    }

    /// Waits until a node's clock shows what it should. A node that is down can't be asked: a correction counts all the same, since the node
    /// restarts with the right time.
    async fn shows_time(&self, node: &Node, action: Action, skew: Skew, found: &mut Found) -> Result<(), LabError> {
        // A node without our library was refused before.
        let Some(control) = &node.control else { return Ok(()) };
        loop {
            if self.node_state(node.name).conditions.has(Condition::Down) {
                return match action {
                    Action::Undo(_) => Ok(()),
                    Action::Fault(_) => Err(unverified(action, node, DOWN_INSTEAD)),
                };
            }
            match control.shown(&node.access(), skew, node.name.role == Role::Lock).await {
                Ok(Some((since, ahead_us))) => {
                    found.add_since(since, Finding::Clock { ahead_us }, Observer::Time);
                    return Ok(());
                }
                Ok(None) => {}
                Err(why) if self.node_state(node.name).is_up() => return Err(unverified(action, node, &why)),
                Err(_) => {}
            }
            sleep(LOOK_PAUSE).await;
        }
    }

    /// Where the proxy accepts connections for a node, if it has a door to it.
    fn door_at(&self, node: &Node) -> Option<SocketAddr> {
        self.proxy.as_ref()?.door(node.name)
    }

    /// Measures round trips to the place where a node is used, until one is as `wanted`, and returns when that began, with the
    /// opening of its connection; `None` if the node stops to answer.
    async fn round_trip(
        &self,
        host: &Host,
        node: &Node,
        later: Duration,
        wanted: impl Fn(Duration) -> bool,
    ) -> Option<(Instant, Finding)> {
        let entrance = self.entrance(node);
        // A new connection needs a few round trips before the one that is measured.
        let limit = later * 4 + ANSWER_TIMEOUT;
        loop {
            let start = Instant::now();
            match probe::round_trip(&entrance, 1, limit).await {
                Some(took) if wanted(took) => {
                    let finding = Finding::RoundTrip {
                        port: entrance.port(),
                        took_us: in_micros(took),
                    };
                    return Some((start, finding));
                }
                _ if !self.node_state(node.name).conditions.answers() || self.site.client.slot(node.id).cut => {
                    return None;
                }
                None if host.imposed.refuses() => return None,
                _ => {}
            }
        }
    }

    /// Sends so many bytes to the place where a node is used, and back, that this takes a while at this speed, until it takes as long as
    /// `wanted` of the least that it can take, and returns when that began; `None` if the node stops to answer. It is not waited for longer
    /// than that least.
    async fn transfer(
        &self,
        host: &Host,
        node: &Node,
        bytes_per_second: u64,
        wanted: impl Fn(Duration, Duration) -> bool,
    ) -> Option<(Instant, Finding)> {
        let entrance = self.entrance(node);
        let bytes = (bytes_per_second / TRANSFERS_PER_SECOND).max(LEAST_TRANSFER);
        let least = Duration::from_secs_f64(2.0 * bytes as f64 / bytes_per_second as f64);
        loop {
            let start = Instant::now();
            match probe::transfer(&entrance, bytes, least).await {
                Some(took) if wanted(took, least) => {
                    let took_us = in_micros(took);
                    return Some((start, Finding::Transfer { bytes, took_us }));
                }
                None if !self.node_state(node.name).conditions.answers() || host.imposed.refuses() => return None,
                _ => sleep(LOOK_PAUSE).await,
            }
        }
    }

    /// Waits until the keeper reports what `done` accepts. It may report why the last order was not carried out instead.
    async fn reaches(&self, node: &Node, action: Action, done: impl Fn(&Slot) -> bool) -> Result<(), LabError> {
        let seen = self.site.client.wait_slot(node.id, FOREVER, |slot| match &slot.error {
            // This is checked first: a server that has just ended by itself could not obey, but is down.
            _ if done(slot) => Some(Ok(())),
            error => error.clone().map(Err),
        });
        let never = || Err(format!("no effect within {FOREVER:?}"));
        let reached = seen.await?.unwrap_or_else(never);
        reached.map_err(|why| unverified(action, node, &why))
    }

    /// Waits until the node's process answers. It may end instead.
    async fn answers(&self, node: &Node, action: Action) -> Result<Finding, LabError> {
        let Slot { pid, inside, .. } = self.site.client.slot(node.id);
        let (Some(pid), Some(inside)) = (pid, inside) else {
            return Err(unverified(action, node, DOWN_INSTEAD));
        };
        let is_gone = |slot: &Slot| (slot.pid != Some(pid)).then_some(());
        let access = node.access();
        let port = access.port();
        let (answer, finding) = match node.member() {
            // Without the others it says nothing.
            Some(_) => (
                probe::accepts(node.address()).map(Ok).left_future(),
                Finding::Accepts { port },
            ),
            None => (
                probe::answers(&access, inside, FOREVER).right_future(),
                Finding::Answers { port },
            ),
        };
        let answered = tokio::select! {
            answer = answer => answer,
            gone = self.site.client.wait_slot(node.id, FOREVER, is_gone) => {
                gone?;
                Err(DOWN_INSTEAD.to_owned())
            }
        };
        answered.map(|()| finding).map_err(|why| unverified(action, node, &why))
    }
}

/// Shifts the clocks of a host, which its nodes have in common.
fn set_clocks(host: &Host, skew: Skew) -> Result<(), LabError> {
    let mut clocks = host.nodes.iter().filter_map(|node| node.control.as_ref());
    clocks
        .try_for_each(|clock| clock.set(skew))
        .map_err(|error| LabError::Other(format!("the clock of {} can't be changed: {error}", host.id)))
}

/// What was found on the nodes of a host. A fault of which nothing was found has not come true.
fn shown(action: Action, host: &Host, found: Vec<Found>) -> Result<Verified<Instant>, LabError> {
    let verified = verified(found);
    match action {
        Action::Fault(_) if verified.proof.is_empty() => Err(LabError::Other(format!(
            "{action} of {} could not be verified: nothing has shown it",
            host.id
        ))),
        _ => Ok(verified),
    }
}

/// That the effect of an action was not found, for this reason.
fn unverified(action: Action, node: &Node, why: &str) -> LabError {
    LabError::Other(format!("{action} of {} could not be verified: {why}", node.name))
}
