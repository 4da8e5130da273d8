//! The nodes of a stack that somebody else has brought up: they are made as if they had just been started for this lab.

use redis::{Cmd, RedisResult};

use super::node::Node;
use super::node_name::Role;
use super::nodes::Nodes;
use super::replication::MASTER_NAME;
use super::{LabError, readiness};

/// What the server has for a node of which the scenario says nothing.
const USUAL_PRIORITY: &str = "100";

/// Empties the nodes and gives them the settings of the lab, also for their next starts.
pub(super) async fn adopt(nodes: &Nodes) -> Result<(), LabError> {
    // As long as a Sentinel watches the others, it tells them whom to follow.
    let (sentinels, others): (Vec<_>, Vec<_>) = nodes.all().partition(|node| node.name.role == Role::Sentinel);
    for node in sentinels.into_iter().chain(others) {
        adopt_one(node).await?;
    }
    Ok(())
}

async fn adopt_one(node: &Node) -> Result<(), LabError> {
    let told = async {
        let mut connection = readiness::connect(node).await?;
        if node.name.role == Role::Sentinel {
            // An error: it watches nobody yet.
            let _: RedisResult<()> = command(&["SENTINEL", "REMOVE", MASTER_NAME])
                .exec_async(&mut connection)
                .await;
            return Ok(());
        }
        if node.name.role == Role::Replicated {
            command(&["REPLICAOF", "NO", "ONE"]).exec_async(&mut connection).await?;
            command(&["CONFIG", "SET", "replica-priority", USUAL_PRIORITY])
                .exec_async(&mut connection)
                .await?;
        }
        for (name, value) in &node.settings().settings {
            command(&["CONFIG", "SET", name, value])
                .exec_async(&mut connection)
                .await?;
        }
        command(&["FLUSHALL"]).exec_async(&mut connection).await?;
        // So that a restart does not find what an earlier run has saved. Where nothing can be written, nothing has been.
        let _: RedisResult<()> = command(&["SAVE"]).exec_async(&mut connection).await;
        command(&["CONFIG", "REWRITE"]).exec_async(&mut connection).await
    };
    told.await.map_err(|error| readiness::failed(node.name, &error))
}

fn command(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(word);
    }
    command
}
