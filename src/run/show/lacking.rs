//! The nodes that an acquire lacked, in words.

use lockstorm_data::model::{Cause, NoVote};
use lockstorm_data::scenario::{ArmSpec, LockNodes, Voter};

/// For example `host 1 down (connection refused), host 2 silent (no reply in time)`, and for a
/// lock on a single node `no vote from host 1: down (connection refused)`. `None` if there is nothing to say.
pub fn lacking(arm: &ArmSpec, nodes: &[NoVote]) -> Option<String> {
    let only = match arm.nodes() {
        LockNodes::OneHost | LockNodes::FirstMaster => Some(Voter::Host(arm.host)),
        LockNodes::Master => Some(Voter::Master),
        LockNodes::Cluster => Some(Voter::Cluster),
        LockNodes::Nowhere | LockNodes::EveryHost | LockNodes::ClusterMasters => None,
    };
    if arm.nodes() == LockNodes::ClusterMasters
        && !nodes.is_empty()
        && nodes.iter().all(|node| node.cause == Cause::Moved)
    {
        let moved = nodes.len();
        return Some(format!(
            "never a quorum: {moved} nodes answer that the key is another node's (MOVED); a Cluster counts as one node"
        ));
    }
    let words: Vec<_> = nodes
        .iter()
        .map(|NoVote { node, cause }| {
            if only.is_some() {
                state(cause)
            } else {
                format!("host {node} {}", state(cause))
            }
        })
        .collect();
    let words = words.join(", ");
    match only {
        _ if words.is_empty() => None,
        Some(only) => Some(format!("no vote from {only}: {words}")),
        None => Some(words),
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

fn state(cause: &Cause) -> String {
    match cause {
        Cause::Refused => "down (connection refused)".to_owned(),
        Cause::Timeout => "silent (no reply in time)".to_owned(),
        Cause::Suspect => "silent (it owes replies)".to_owned(),
        Cause::Disconnected => "gone (the connection broke)".to_owned(),
        Cause::Busy => "busy (too many commands wait)".to_owned(),
        Cause::Overloaded => "overloaded (its queue is longer than callers wait)".to_owned(),
        Cause::TooMany => "not asked (too many locks are held)".to_owned(),
        Cause::Duplicate { of } => format!("the same server as host {}", of + 1),
        Cause::ReadOnly => "a replica (it takes no writes)".to_owned(),
        Cause::Moved => "not the key's node (its cluster keeps the key on another)".to_owned(),
        Cause::NoMaster => "without a master (Sentinels name none)".to_owned(),
        Cause::NotReady(text) => format!("not ready ({text})"),
        Cause::Unreplicated { replicas, of } => format!("not replicated (confirmed by {replicas} of {of} replicas)"),
        Cause::Held | Cause::NoPermission(_) | Cause::Tls(_) | Cause::Error(_) => format!("refuses ({cause})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::scenario::{Overrides, Source, parse};

    #[test]
    fn each_node_is_named_with_its_state() {
        let [locks, clusters] = ["single-vs-redlock", "cluster-counts-as-one"].map(|name| {
            let source = Source::open(name).expect("it is built in");
            parse(&source, &Overrides::default()).expect("it is valid").arms
        });
        let arm = |name: &str| locks.iter().find(|arm| arm.name == name).expect("an arm");
        let no_vote = |node, cause| NoVote { node, cause };
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
