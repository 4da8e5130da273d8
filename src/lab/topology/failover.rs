//! Moves the master of the replicated nodes to another one, on order.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::LabError;
use crate::lab::Lab;
use crate::server::node::Node;
use crate::server::node_name::{NodeName, Role};
use crate::server::probe_keys;
use crate::server::sessions::words;
use crate::topology::readiness;
use crate::topology::replication::{self, MASTER_NAME};
use lockstorm_data::model::{HostId, ReplicationRole, Way};
use lockstorm_lock::{NodeAddress, Reply, SessionError};

/// How long Sentinels may take to name another master.
const LIMIT: Duration = Duration::from_secs(10);
/// The pause before a node is asked again.
const PAUSE: Duration = Duration::from_millis(10);
/// The channel on which Sentinels tell each other what they know.
const HELLO: &str = "__sentinel__:hello";

impl Lab {
    /// Lets another replicated node become the master: by hand that of host `to`, which must answer. Returns the host whose
    /// node it is, perhaps before that takes writes.
    pub(crate) async fn fail_over(&self, by: Way, to: HostId) -> Result<HostId, LabError> {
        let _turn = self.nodes.moving.lock().await;
        let moved = match by {
            Way::Sentinel => self.by_sentinel().await,
            Way::Hand => self.by_hand(to).await,
        };
        moved.map_err(|why| LabError::Other(format!("there was no failover: {why}")))
    }

    /// The nodes of this role that are neither down nor paused.
    fn answering(&self, role: Role) -> Vec<&Node> {
        let answers = |node: &&Node| self.node_state(node.name).conditions.answers();
        self.nodes.of(role).filter(answers).collect()
    }

    /// Tells the first Sentinel that agrees to fail over, as it does when the master is down, but without asking the others.
    async fn by_sentinel(&self) -> Result<HostId, String> {
        let mut why = "no Sentinel answers".to_owned();
        for sentinel in self.answering(Role::Sentinel) {
            match order(sentinel).await {
                Ok(before) => return self.named_after(sentinel, before).await,
                Err(error) => why = told(sentinel, &error),
            }
        }
        Err(why)
    }

    /// Does what somebody does who trusts no Sentinel: one replica stops following, the others follow it, and the Sentinels are
    /// told.
    ///
    /// If they are not told, Sentinels go on to name the old master, although it says that it is a replica, and after some
    /// twenty seconds (down-after and two info periods) they take it for down and choose a master themselves. `SENTINEL RESET`
    /// changes nothing of that. `SENTINEL REMOVE` and `MONITOR` do, but make them forget the nodes that are down now: these
    /// would come back as masters, and nobody would change it; and clients hear nothing. So each Sentinel is told in the way in
    /// which they tell each other after a failover of their own: by a message with a newer configuration epoch. They then point
    /// nodes that come back to the new master, announce it to clients, and tell Sentinels that come back.
    async fn by_hand(&self, to: HostId) -> Result<HostId, String> {
        let new = self.nodes.get(NodeName::on(to, Role::Replicated));
        let new = new.ok_or("this lab has no replicated nodes")?;
        let sentinels = self.answering(Role::Sentinel);
        let mut epoch = 0;
        let mut named = None;
        for sentinel in &sentinels {
            let known = Watched::of(sentinel).await.map_err(|error| told(sentinel, &error))?;
            epoch = epoch.max(known.epoch + 1);
            named = Some(known.port);
        }
        // An old master that is back calls itself one until it is told.
        let entrance = self.entrance(new);
        let is_master = matches!(self.replication_role(new).await, Some(ReplicationRole::Master { .. }));
        if is_master && named.is_none_or(|port| port == entrance.port()) {
            return Err(format!("{to} has the master already"));
        }
        replication::lead(new).await.map_err(|error| told(new, &error))?;
        // From here on it has happened. One who goes away meanwhile must not keep the others from hearing of it; the Sentinels
        // tell it when it is back.
        for node in self.answering(Role::Replicated) {
            if node.name != new.name
                && let Err(error) = replication::follow(node, &entrance).await
            {
                tracing::warn!("{} did not follow {to}: {}", node.name, words(&error));
            }
        }
        for sentinel in sentinels {
            if let Err(error) = announce(sentinel, &entrance, epoch).await {
                tracing::warn!(
                    "{} was not told that {to} has the master: {}",
                    sentinel.name,
                    words(&error)
                );
            }
        }
        Ok(to)
    }

    /// The host of the master that this Sentinel names once it names another one than before.
    async fn named_after(&self, sentinel: &Node, before: u16) -> Result<HostId, String> {
        let end = Instant::now() + LIMIT;
        loop {
            let port = Watched::of(sentinel).await.map(|watched| watched.port);
            let named = port.ok().filter(|port| *port != before);
            if let Some(host) = named.and_then(|port| self.host_on(port)) {
                return Ok(host);
            }
            if Instant::now() >= end {
                return Err(format!(
                    "{} names no other master within {} s",
                    sentinel.name,
                    LIMIT.as_secs()
                ));
            }
            sleep(PAUSE).await;
        }
    }
}

/// Waits until a node accepts a write, which only a master does; with `min-replicas-to-write` only once it has replicas.
pub(crate) async fn takes_writes(node: &Node) {
    while !probe_keys::accepts_writes(&node.access()).await {
        sleep(PAUSE).await;
    }
}

fn told(node: &Node, error: &SessionError) -> String {
    format!("{}: {}", node.name, words(error))
}

/// Orders a failover. Returns the port of the master until now.
async fn order(sentinel: &Node) -> Result<u16, SessionError> {
    let before = Watched::of(sentinel).await?.port;
    readiness::order(sentinel, &["SENTINEL", "FAILOVER", MASTER_NAME]).await?;
    Ok(before)
}

/// What a Sentinel knows of the master.
struct Watched {
    port: u16,
    /// The number of the failover that made it the master.
    epoch: u64,
}

impl Watched {
    async fn of(sentinel: &Node) -> Result<Self, SessionError> {
        let master = readiness::order(sentinel, &["SENTINEL", "MASTER", MASTER_NAME]).await?;
        let field = |name| Reply::field(master.parts(), name).unwrap_or_default();
        Ok(Self {
            port: field("port").parse().unwrap_or(0),
            epoch: field("config-epoch").parse().unwrap_or(0),
        })
    }
}

/// Tells a Sentinel where the new master is used, in the name of another Sentinel that it knows: it would not listen to itself.
async fn announce(sentinel: &Node, master: &NodeAddress, epoch: u64) -> Result<(), SessionError> {
    let mut session = readiness::connect(sentinel).await?;
    let others = session.order(&["SENTINEL", "SENTINELS", MASTER_NAME]).await?;
    // A Sentinel without others has nobody to fail over with; the lab's Sentinels all know each other.
    let Some(other) = others.parts().first() else {
        return Ok(());
    };
    let [ip, port, id] = ["ip", "port", "runid"].map(|name| Reply::field(other.parts(), name).unwrap_or_default());
    let (master_ip, master_port) = (master.host(), master.port());
    let message = format!("{ip},{port},{id},{epoch},{MASTER_NAME},{master_ip},{master_port},{epoch}");
    session.order(&["PUBLISH", HELLO, &message]).await.map(drop)
}
