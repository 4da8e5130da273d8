//! The nodes of a stack that somebody else has brought up: they are made as if they had just been started for this lab.

use crate::error::LabError;
use crate::server::node::Node;
use crate::server::node_name::Role;
use crate::server::nodes::Nodes;
use crate::topology::readiness;
use crate::topology::replication::MASTER_NAME;

/// What the server has for a node of which the scenario says nothing.
const USUAL_PRIORITY: &str = "100";

/// Empties the nodes and gives them the settings of the lab, also for their next starts.
pub(crate) async fn adopt(nodes: &Nodes) -> Result<(), LabError> {
    // As long as a Sentinel watches the others, it tells them whom to follow.
    let (sentinels, others): (Vec<_>, Vec<_>) = nodes.all().partition(|node| node.name.role == Role::Sentinel);
    for node in sentinels.into_iter().chain(others) {
        adopt_one(node).await?;
    }
    Ok(())
}

async fn adopt_one(node: &Node) -> Result<(), LabError> {
    let told = async {
        let mut session = readiness::connect(node).await?;
        if node.name.role == Role::Sentinel {
            // An error: it watches nobody yet.
            let _ = session.ask(&["SENTINEL", "REMOVE", MASTER_NAME]).await;
            return Ok(());
        }
        if node.name.role == Role::Replicated {
            session.order(&["REPLICAOF", "NO", "ONE"]).await?;
            session
                .order(&["CONFIG", "SET", "replica-priority", USUAL_PRIORITY])
                .await?;
        }
        for (name, value) in &node.settings().settings {
            session.order(&["CONFIG", "SET", name, value]).await?;
        }
        session.order(&["FLUSHALL"]).await?;
        session.order(&["CONFIG", "REWRITE"]).await?;
        // So that a restart does not find what an earlier run has saved. Where nothing can be written, nothing has been.
        let _ = session.ask(&["SAVE"]).await;
        Ok(())
    };
    told.await.map_err(readiness::failed(node))
}
