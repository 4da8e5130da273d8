use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::NoVote;
use crate::scenario::{ArmSpec, LockNodes, Voter};

/// The nodes that an acquire lacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lacking {
    /// The only voter of the lock; null if it has several.
    pub only: Option<Voter>,
    /// The nodes, with the cause of each; at least one.
    pub nodes: Vec<NoVote>,
}

impl Lacking {
    /// What an acquire of this arm lacked; `None` if it lacked no node.
    pub fn of(arm: &ArmSpec, nodes: &[NoVote]) -> Option<Self> {
        let only = match arm.nodes() {
            LockNodes::OneHost | LockNodes::FirstMaster => Some(Voter::Host(arm.host)),
            LockNodes::Master => Some(Voter::Master),
            LockNodes::Cluster => Some(Voter::Cluster),
            LockNodes::Nowhere | LockNodes::EveryHost | LockNodes::ClusterMasters => None,
        };
        let nodes = nodes.to_vec();
        (!nodes.is_empty()).then_some(Self { only, nodes })
    }
}

/// The nodes that an acquire lacked, where space is short: `host 1 refused, host 2 timeout`.
pub fn lacking_in_short(nodes: &[NoVote]) -> String {
    let words: Vec<_> = nodes
        .iter()
        .map(|NoVote { node, cause }| format!("host {node} {}", cause.kind()))
        .collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Cause;
    use crate::scenario::{Overrides, Source, parse};

    #[test]
    fn each_node_is_named_with_its_state() {
        let [locks, clusters] = ["single-vs-redlock", "cluster-counts-as-one"].map(|name| {
            let source = Source::open(name).expect("it is built in");
            parse(&source, &Overrides::default()).expect("it is valid").arms
        });
        let arm = |name: &str| locks.iter().find(|arm| arm.name == name).expect("an arm");
        let no_vote = |node, cause| NoVote { node, cause };
        let lacking = |arm: &ArmSpec, nodes: &[NoVote]| Lacking::of(arm, nodes).map(|lacking| lacking.to_string());
        let two = [no_vote(1, Cause::Refused), no_vote(3, Cause::Timeout)];
        assert_eq!(
            lacking(arm("redlock"), &two).as_deref(),
            Some("host 1 down (connection refused), host 3 silent (no reply in time)")
        );
        assert_eq!(
            lacking(arm("single"), &two[..1]).as_deref(),
            Some("no vote from host 1: down (connection refused)")
        );
        assert_eq!(lacking_in_short(&two), "host 1 refused, host 3 timeout");
        let refused = [
            no_vote(1, Cause::ReadOnly),
            no_vote(2, Cause::NotReady("LOADING".into())),
            no_vote(3, Cause::NoMaster),
            no_vote(4, Cause::Unreplicated { replicas: 1, of: 2 }),
            no_vote(5, Cause::Moved),
        ];
        assert_eq!(
            lacking(arm("redlock"), &refused).as_deref(),
            Some(
                "host 1 a replica (it takes no writes), host 2 not ready (LOADING), host 3 without a master (Sentinels name none), \
                 host 4 not replicated (confirmed by 1 of 2 replicas), host 5 not the key's node (its cluster keeps the key on \
                 another)"
            )
        );
        assert_eq!(lacking(arm("redlock"), &[]), None);
        let over_masters = clusters.iter().find(|arm| arm.nodes() == LockNodes::ClusterMasters);
        assert_eq!(
            lacking(
                over_masters.expect("an arm"),
                &[1, 2].map(|node| no_vote(node, Cause::Moved))
            )
            .as_deref(),
            Some("never a quorum: 2 nodes answer that the key is another node's (MOVED); a Cluster counts as one node")
        );
    }
}
