//! How the nodes of a kept lab are.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

use humantime::format_rfc3339_seconds;

use super::answer::{HostStatus, LinkStatus, NodeStatus};
use crate::lab::Lab;
use crate::server::node_name::{NodeName, Role};
use lockstorm_data::model::{Condition, Conditions, HostId, Ongoing, ReplicationRole, Target};

/// How each host of this lab is now.
pub(super) async fn hosts(lab: &Lab) -> Vec<HostStatus> {
    let roles = roles(lab).await;
    let ids = lab.lock_nodes().into_iter().map(|(host, _)| host);
    ids.map(|id| host(lab, &roles, id)).collect()
}

/// The links with which something is wrong.
pub(super) fn links(lab: &Lab) -> Vec<LinkStatus> {
    let links = lab.broken_links().into_iter();
    let one = |link| {
        let conditions = lab.link_conditions(link);
        let since = last_change(&conditions)?;
        Some(LinkStatus {
            link: Target::Link(link).to_string(),
            state: words(&conditions),
            for_s: since.elapsed().as_secs_f64(),
            since: moment(since),
        })
    };
    links.filter_map(one).collect()
}

/// Why nobody can tell how they are, if that is so.
pub(super) fn doubt(lab: &Lab) -> Option<String> {
    lab.keeper_stopped().then(|| {
        "somebody has stopped the lab's keeper, so these states may be old: continue it with `kill -CONT`".to_owned()
    })
}

/// What the replicated nodes say that they are.
async fn roles(lab: &Lab) -> BTreeMap<NodeName, ReplicationRole> {
    let mut roles = lab.replication_roles().await;
    let is_missing =
        |name: &NodeName| name.role == Role::Replicated && lab.node_state(*name).is_up() && !roles.contains_key(name);
    // Sentinels make nodes close all connections. The first question notices that, and the second one is sent over a new one.
    if lab.names().any(|name| is_missing(&name)) {
        roles.extend(lab.replication_roles().await);
    }
    roles
}

fn host(lab: &Lab, roles: &BTreeMap<NodeName, ReplicationRole>, id: HostId) -> HostStatus {
    let nodes = lab.names().filter(|name| name.host == Some(id));
    let mut network = lab.state(id).conditions;
    let up = network.answers();
    network.retain(Condition::is_imposed);
    HostStatus {
        host: id,
        up,
        nodes: nodes.map(|name| node(lab, &network, roles.get(&name), name)).collect(),
    }
}

/// How a node is, on a host with whose `network` this is wrong.
fn node(lab: &Lab, network: &Conditions<Instant>, role: Option<&ReplicationRole>, name: NodeName) -> NodeStatus {
    let is_master = role.map(|role| matches!(role, ReplicationRole::Master { .. }));
    let role = match (name.role, role) {
        (_, Some(role)) => role.to_string(),
        (Role::Lock, _) => "lock node".to_owned(),
        (Role::Sentinel, _) => "Sentinel".to_owned(),
        // It does not answer now.
        (_, None) => "replicated node".to_owned(),
    };
    let state = lab.node_state(name).with(network.clone());
    let since = last_change(&state.conditions).map_or(state.changed, |since| since.max(state.changed));
    NodeStatus {
        role,
        is_master: is_master.filter(|_| state.conditions.is_up()),
        address: lab.used_at(name).map(|address| address.to_string()).unwrap_or_default(),
        for_s: since.elapsed().as_secs_f64(),
        since: moment(since),
        state: words(&state.conditions),
        client_bytes: lab.carried(name),
    }
}

fn last_change(conditions: &Conditions<Instant>) -> Option<Instant> {
    conditions.iter().map(|ongoing| ongoing.since).max()
}

/// `up`, `down (killed)`.
fn words(conditions: &Conditions<Instant>) -> String {
    if conditions.is_up() {
        return "up".to_owned();
    }
    let one = |ongoing: &Ongoing<Instant>| {
        let how = ongoing.how.as_ref().map_or_else(String::new, |how| format!(" ({how})"));
        format!("{}{how}", ongoing.condition.word())
    };
    conditions.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// This instant in UTC, by the machine's clock as it goes now.
fn moment(instant: Instant) -> String {
    let now = SystemTime::now();
    format_rfc3339_seconds(now.checked_sub(instant.elapsed()).unwrap_or(now)).to_string()
}
