use std::sync::Arc;

use super::broken::Broken;
use super::flaw::Flaw;
use super::liar::lie;
use super::node::Node;
use lockstorm_data::model::HostId;
use lockstorm_lock::{NodeAddress, NodeOptions, Nodes};
use lockstorm_run::under_test::{Lock, OtherLocks, Reply, Site};

/// Makes the broken locks of an arm.
#[derive(Debug)]
pub(crate) struct Maker {
    pub flaw: Flaw,
    /// The hosts that its lock is on.
    pub hosts: Vec<HostId>,
}

/// One mutex for each key, which all app servers share: what a lock should be.
#[derive(Debug)]
pub(crate) struct Mutex(pub lockstorm_lock::Lock);

impl OtherLocks for Maker {
    fn connect(&self, site: Site) -> Reply<'_, Result<Lock, String>> {
        Box::pin(async move {
            let address = |host: &HostId| site.nodes.get(host.index()).cloned();
            let nodes: Vec<Node> = self.hosts.iter().filter_map(address).map(Node::new).collect();
            if !matches!(self.flaw, Flaw::LyingServer | Flaw::ForgetfulServer) {
                return Ok(Lock::Other(Arc::new(Broken::new(self.flaw, nodes))));
            }
            let node = nodes.first().and_then(Node::server).ok_or("no node is known")?;
            let liar = lie(node, self.flaw == Flaw::LyingServer).await;
            let liar = liar.map_err(|error| format!("no liar can listen: {error}"))?;
            let nodes = Nodes::connect(&[NodeAddress::from(liar)], NodeOptions::default());
            Ok(Lock::Engine(lockstorm_lock::Lock::single(&nodes, 0, site.seed)))
        })
    }
}

impl OtherLocks for Mutex {
    fn connect(&self, _: Site) -> Reply<'_, Result<Lock, String>> {
        Box::pin(async { Ok(Lock::Engine(self.0.clone())) })
    }
}
