//! The cluster: three masters that share the slots, each with a replica on another host.

use crate::awaited::{Awaited, Of};
use crate::error::LabError;
use crate::server::node::Node;
use crate::server::node_name::Role;
use crate::server::nodes::Nodes;
use crate::server::sessions;
use crate::server::stats;
use crate::topology::readiness::{self, PROOF, failed};
use lockstorm_data::model::{ClusterNode, ClusterRole};
use lockstorm_lock::{Reply, SessionError};

/// Asks a node of the cluster what it is; `None` if it does not answer in time.
pub(crate) async fn ask(node: &Node) -> Option<ClusterNode> {
    let mut session = sessions::open(&node.access(), stats::STATS_TIMEOUT).await.ok()?;
    let questions: [&[&str]; 3] = [&["CLUSTER", "INFO"], &["CLUSTER", "NODES"], &["ROLE"]];
    let answers = session.ask_all(&questions).await.ok()?;
    let [Reply::Text(info), Reply::Text(nodes), role] = &answers[..] else {
        return None;
    };
    let own = lines(nodes).find(|line| line.has("myself"))?;
    let role = match own.master {
        None => ClusterRole::Master { slots: own.slots },
        Some(master) => ClusterRole::Replica {
            // It may not have heard of its master yet.
            master: lines(nodes).find(|line| line.id == master).map_or(0, |line| line.port),
            // The state of the link is the fourth part of a replica's answer to ROLE.
            connected: role.parts().get(3).and_then(Reply::text) == Some("connected"),
        },
    };
    Some(ClusterNode {
        role,
        is_ok: is_ok(info),
    })
}

fn is_ok(info: &str) -> bool {
    info.lines().any(|line| line.trim_end() == "cluster_state:ok")
}

/// One line of the answer to CLUSTER NODES: a node as another one sees it.
struct Line<'a> {
    id: &'a str,
    port: u16,
    flags: &'a str,
    /// The id of its master, if it is a replica.
    master: Option<&'a str>,
    slots: u16,
}

impl Line<'_> {
    fn has(&self, flag: &str) -> bool {
        self.flags.split(',').any(|one| one == flag)
    }

    /// Whether the node that was asked has got to know it and does not take it for down.
    fn is_well(&self) -> bool {
        !["handshake", "noaddr", "fail", "fail?"]
            .iter()
            .any(|flag| self.has(flag))
    }
}

/// Reads lines like `ID HOST:PORT@BUS,NAME FLAGS MASTER PING PONG EPOCH LINK 0-5460 7000 [93-<-ID]`.
fn lines(nodes: &str) -> impl Iterator<Item = Line<'_>> {
    nodes.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (id, address, flags, master) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let (place, _) = address.split_once('@').unwrap_or((address, ""));
        Some(Line {
            id,
            port: place.rsplit_once(':')?.1.parse().ok()?,
            flags,
            master: Some(master).filter(|id| *id != "-"),
            slots: words.skip(4).filter_map(slots).sum(),
        })
    })
}

/// The number of slots in `0-5460` or `7000`; `None` for slots on their way to another node.
fn slots(range: &str) -> Option<u16> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    last.checked_sub(first)?.checked_add(1)
}

/// Makes one cluster of the nodes, with a third of the slots on the first node of each host and the second node of the next
/// host as its replica. Returns when every node says that the cluster is in order and knows all the others, and each replica
/// has acknowledged a write.
pub(crate) async fn establish(nodes: &Nodes, awaited: &Awaited<'_>) -> Result<(), LabError> {
    let masters: Vec<&Node> = nodes.of(Role::FirstInCluster).collect();
    let mut replicas: Vec<&Node> = nodes.of(Role::SecondInCluster).collect();
    let all: Vec<&Node> = masters.iter().chain(&replicas).copied().collect();
    let Some((first, others)) = all.split_first() else {
        return Ok(());
    };
    let wait = |what| awaited.until(Of::Cluster, what);
    wait(Some("the nodes of the cluster know each other"));
    for (index, master) in masters.iter().enumerate() {
        let slots = share(index, masters.len());
        give_slots(master, slots, index + 1).await.map_err(failed(master))?;
    }
    for other in others {
        meet(first, other).await.map_err(failed(first))?;
    }
    for node in &all {
        knows(node, all.len(), 0).await?;
    }
    wait(Some("the cluster is in order"));
    // The replica of host 1's master is on host 2, and so on; that of the last one is on host 1.
    replicas.rotate_left(1);
    for (master, replica) in masters.iter().zip(&replicas) {
        follow(replica, master).await.map_err(failed(replica))?;
    }
    for node in &all {
        knows(node, all.len(), replicas.len()).await?;
    }
    for (index, master) in masters.iter().enumerate() {
        let key = key_in(master, share(index, masters.len())).await;
        let key = key.map_err(failed(master))?;
        readiness::acknowledged(master, 1, &key).await?;
    }
    wait(None);
    Ok(())
}

/// The first and the last slot of the master at this place of so many.
fn share(index: usize, of: usize) -> [u16; 2] {
    let border = |index: usize| u16::try_from(usize::from(ClusterNode::SLOTS) * index / of).unwrap_or(u16::MAX);
    [border(index), border(index + 1) - 1]
}

/// Gives an empty node its slots and, since no two masters may have the same, its epoch.
async fn give_slots(node: &Node, slots: [u16; 2], epoch: usize) -> Result<(), SessionError> {
    let mut session = readiness::connect(node).await?;
    let [first, last] = slots.map(|slot| slot.to_string());
    session.order(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]).await?;
    let epoch = epoch.to_string();
    session.order(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]).await.map(drop)
}

/// Lets two nodes get to know each other; they tell each other whom else they know.
async fn meet(node: &Node, other: &Node) -> Result<(), SessionError> {
    let (address, bus) = (other.address(), other.bus_port.map(|port| port.to_string()));
    let (ip, port) = (address.ip().to_string(), address.port().to_string());
    let mut order = vec!["CLUSTER", "MEET", &ip, &port];
    order.extend(bus.as_deref());
    readiness::order(node, &order).await.map(drop)
}

/// Makes a node the replica of another.
async fn follow(replica: &Node, master: &Node) -> Result<(), SessionError> {
    let id = readiness::order(master, &["CLUSTER", "MYID"]).await?;
    let order = ["CLUSTER", "REPLICATE", id.text().unwrap_or_default()];
    readiness::order(replica, &order).await.map(drop)
}

/// Waits until a node knows so many nodes, itself included, with so many replicas among them. With replicas it must also say
/// that the cluster is in order.
async fn knows(node: &Node, nodes: usize, replicas: usize) -> Result<(), LabError> {
    readiness::until(node, async |session| {
        let info = session.order(&["CLUSTER", "INFO"]).await?;
        let list = session.order(&["CLUSTER", "NODES"]).await?;
        let said = list.text().unwrap_or_default();
        let known = lines(said).filter(Line::is_well).count();
        let following = lines(said).filter(|line| line.master.is_some()).count();
        let in_order = replicas == 0 || info.text().is_some_and(is_ok);
        Ok(match in_order {
            true if (known, following) == (nodes, replicas) => None,
            true => Some(format!(
                "it knows {known} of {nodes} nodes and {following} of {replicas} replicas of the cluster"
            )),
            false => Some("it says that the cluster is down (cluster_state:fail)".to_owned()),
        })
    })
    .await
}

/// A key in one of the slots from the first to the last.
async fn key_in(node: &Node, [first, last]: [u16; 2]) -> Result<String, SessionError> {
    let mut session = readiness::connect(node).await?;
    let mut number = 0_u64;
    loop {
        let key = format!("{PROOF}:{number}");
        let slot = session.order(&["CLUSTER", "KEYSLOT", &key]).await?;
        if slot.number().is_some_and(|slot| (first..=last).contains(&slot)) {
            return Ok(key);
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_are_shared_out() {
        assert_eq!(
            [0, 1, 2].map(|index| share(index, 3)),
            [[0, 5460], [5461, 10921], [10922, 16383]]
        );
        assert_eq!(share(0, 1), [0, 16383]);
    }

    #[test]
    fn cluster_nodes_are_read() {
        let said = "07c3 127.0.0.1:30004@31004,host slave e7d1 0 1426238317239 4 connected\n\
                    e7d1 127.0.0.1:30001@31001 myself,master - 0 0 1 connected 0-5460 7000 [93-<-07c3]\n\
                    824f :0@0 master,noaddr - 1 1 0 disconnected\n\
                    67ed 127.0.0.1:30002@31002 master,fail? - 0 1426238316232 2 connected 5461-6999 7001-10922\n\
                    broken\n";
        let read: Vec<_> = lines(said)
            .map(|line| (line.id, line.port, line.master, line.slots, line.is_well()))
            .collect();
        let expected = [
            ("07c3", 30004, Some("e7d1"), 0, true),
            ("e7d1", 30001, None, 5462, true),
            ("824f", 0, None, 0, false),
            ("67ed", 30002, None, 5461, false),
        ];
        assert_eq!(read, expected);
        assert!(is_ok("cluster_state:ok\r\ncluster_slots_ok:16384\r\n") && !is_ok("cluster_state:fail\r\n"));
    }
}
