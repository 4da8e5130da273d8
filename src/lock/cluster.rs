//! A cluster, as one node for locks.

use std::fmt;
use std::sync::Arc;

use crate::node::address::{BadAddress, NodeAddress};
use crate::node::options::NodeOptions;
use crate::node::url::UrlPart;
use crate::nodes::Nodes;
use crate::routing::router::Router;
use crate::routing::surveyor;

/// A Redis or Valkey Cluster, which counts as one node for locks. Cheap to clone.
///
/// A lock on it is a lock on a single node, whose keys are divided among several masters:
/// [`Lock::single`](crate::Lock::single) or [`Redlock::builder`](crate::Redlock::builder) on [`node`](Self::node). Its masters are
/// no quorum: each key has one of them, and the others answer with [`Cause::Moved`](crate::Cause::Moved).
///
/// # What such a lock is worth
/// As much as one on a master with replicas: a cluster replicates behind the reply. A master that dies takes the locks with it
/// that its replica has not got yet, and somebody else can get them from the replica at once;
/// [`NodeOptions::wait_replicas`] waits until *all* replicas of the key's master have it. A master that is back without its data
/// before the others take it for dead stays the master, and has forgotten its locks: it needs its data on disk. A master that is
/// cut off from the others grants locks for about `cluster-node-timeout` more. A quorum of independent nodes has none of these
/// weaknesses.
///
/// # Example
/// ```no_run
/// use std::time::Duration;
/// use lockstorm_lock::{Cluster, NodeOptions, Redlock};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let urls = ["redis://locks:secret@10.0.0.1:6379", "redis://locks:secret@10.0.0.2:6379"];
/// let cluster = Cluster::open(&urls, NodeOptions::default())?;
/// let lock = Redlock::builder(cluster.node()).ttl(Duration::from_secs(5)).build()?;
/// let guard = lock.acquire("invoice:42").await?;
/// guard.release().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cluster {
    seeds: Arc<[NodeAddress]>,
    options: NodeOptions,
}

impl Cluster {
    /// The cluster of which nodes are at these URLs, which are like those of [`Nodes::open`], without a database. Name several:
    /// one that answers is enough to find the others. All nodes of the cluster must know the same user and password. If the URLs
    /// are `rediss://`, all nodes are reached over [TLS](crate#tls), under the names by which they announce themselves.
    ///
    /// # Errors
    /// If a URL is not an address; if it asks for TLS and the machine trusts no authorities; if they differ in user, password or
    /// TLS; if one has a database; if a node is named twice; if there are no URLs.
    pub fn open<U: AsRef<str>>(urls: &[U], options: NodeOptions) -> Result<Self, BadAddress> {
        let mut seeds: Vec<NodeAddress> = Vec::new();
        for url in urls {
            let seed = NodeAddress::parse(url.as_ref())?;
            let differs =
                |first: &NodeAddress| first.uses_tls() != seed.uses_tls() || first.credentials() != seed.credentials();
            let why = if seeds.iter().any(|other| other.is_same_node(&seed)) {
                "this node is named twice"
            } else if seeds.first().is_some_and(differs) {
                "its user, password or TLS differ from those of the first one; the nodes of a cluster are all reached alike"
            } else if seed.database() != 0 {
                "a cluster has one database, which is 0"
            } else {
                seeds.push(seed);
                continue;
            };
            return Err(BadAddress::new(url.as_ref(), UrlPart::Whole, why));
        }
        if seeds.is_empty() {
            let why = "there is no address; a cluster is found by at least one of its nodes";
            return Err(BadAddress::new("(none)", UrlPart::Whole, why));
        }
        Ok(Self::at(&seeds, options))
    }

    /// The cluster of which nodes are at these addresses. The first one's user, password and TLS, and whether it must be a
    /// [process of this user](NodeAddress::of_this_user), are those of all nodes that the cluster names. Without any address no
    /// master is ever found.
    #[must_use]
    pub fn at(nodes: &[NodeAddress], options: NodeOptions) -> Self {
        Self {
            seeds: nodes.into(),
            options: options.bounded(),
        }
    }

    /// The whole cluster as one node for locks. It has connections of its own for each call: one to each master, and one to the
    /// node that is asked which master has which slot. That node is asked once a second, and others at once when a master can't
    /// be asked, or a node says that it does not have a slot. Of two masters that claim a slot, the one with the higher
    /// configuration epoch has it, so a node that was stopped or cut off does not lead back to an old master.
    ///
    /// A command that a node answers with `MOVED` or `ASK` was not run, and is sent to the node that it names, a few times at
    /// most. Deletes are owed to whoever has the slot: if its master dies, its replica gets them.
    ///
    /// While it is not known who has a slot, its keys get no vote, with the cause [`NoMaster`](crate::Cause::NoMaster); if the
    /// nodes can't be asked because of the password, a permission or TLS, or if they are none of a cluster, the cause is that. If
    /// its master can't be asked, the cause is the one that it would be of a single node. If the cluster is not complete, it is
    /// [`NotReady`](crate::Cause::NotReady) (`CLUSTERDOWN`).
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn node(&self) -> Nodes {
        // Without a seed the login does not matter, since nobody is asked.
        let nowhere = || std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into();
        let login = self.seeds.first().cloned().unwrap_or_else(nowhere);
        let router = Router::new(login, self.options);
        surveyor::start(&router, Arc::clone(&self.seeds));
        Nodes::of_cluster(router)
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("seeds", &self.seeds)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_why_without_the_password() {
        let why = |urls: &[&str]| {
            let error = Cluster::open(urls, NodeOptions::default()).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
            error
        };
        assert!(why(&[]).contains("at least one of its nodes"));
        assert!(why(&["localhost"]).contains("redis://"));
        assert!(why(&["redis://:secret@a:1", "redis://:secret@A:1"]).contains("named twice"));
        assert!(why(&["redis://:secret@a:1", "redis://b:1"]).contains("differ"));
        assert!(why(&["redis://:secret@a:1/2"]).contains("one database"));
        assert!(Cluster::open(&["redis://:secret@a:1", "redis://:secret@b:1"], NodeOptions::default()).is_ok());
    }
}
