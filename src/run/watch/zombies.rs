//! What the keys on the nodes tell. Zombies are keys of locks that nobody holds: a node that was paused, or slow, runs a `SET` that its client
//! has given up, and if nothing deletes the key, it keeps everybody out for a whole TTL. And if different nodes keep different keys of one
//! lock that two hold, its clients ask different nodes.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::lacks::ArmLocks;
use crate::under_test::HeldLock;
use lockstorm_lab::{Kept, Lab, NodeName, Role};

/// The pause between two looks. An attempt that is not given up holds keys for less.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// For how long different nodes must have different keys of one lock. An attempt that gets too few votes gives them back sooner.
const APART: Duration = Duration::from_millis(50);

/// An arm whose keys are looked at.
#[derive(Debug)]
pub(crate) struct Watched {
    /// What its keys begin with.
    pub prefix: String,
    /// Whether the value of a key does not tell its holder, as with other programs' locks: then the name of the lock does, if the program
    /// keeps it as it is.
    pub is_by_name: bool,
    /// The names of all its locks, if these tell.
    pub locks_by_name: HashSet<String>,
    /// The TTL of its locks.
    pub ttl: Duration,
    pub locks: ArmLocks,
}

/// What the keys of an arm have told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// The arm, by its position.
    pub arm: usize,
    /// How many new zombies there are; `None` if that can't be told.
    pub zombies: Option<u64>,
    /// Whether different nodes have kept different keys of one lock while two held it, in two looks.
    pub is_apart: bool,
}

/// A key with the value that a node has of it.
type Entry = (String, String);

/// Looks at the nodes again and again, and sends what their keys tell of each arm. A key is a zombie if two
/// looks in a row have found the same value, and nobody held it before or after any of them. The nodes must be ours: others may have too many
/// keys.
pub(crate) async fn watch(lab: Arc<Lab>, patience: Duration, arms: Vec<Watched>, found: mpsc::Sender<Vec<Told>>) {
    let (mut before, mut known) = (HashSet::new(), HashSet::new());
    let mut named = vec![false; arms.len()];
    let mut kept = vec![HashSet::new(); arms.len()];
    loop {
        sleep(EVERY.max(patience)).await;
        let suspects = look(&lab, &arms, &mut named).await;
        let zombies: Vec<&Entry> = suspects
            .intersection(&before)
            .filter(|zombie| !known.contains(*zombie))
            .collect();
        let mut told = Vec::new();
        for ((arm, named), kept) in arms.iter().zip(&named).zip(&mut kept) {
            let its = zombies.iter().filter(|(key, _)| key.starts_with(&arm.prefix));
            let can_tell = !arm.is_by_name || *named;
            let apart = apart(&lab, arm).await;
            told.push(Told {
                arm: arm.locks.0,
                zombies: can_tell.then_some(its.count() as u64),
                is_apart: !apart.is_empty() && !kept.is_empty() && apart.is_disjoint(kept),
            });
            if kept.is_empty() {
                *kept = apart;
            }
        }
        // None is forgotten: a node that is silent for a while still has its keys, and no token comes again.
        known.extend(zombies.into_iter().cloned());
        before = suspects;
        if found.send(told).await.is_err() {
            return;
        }
    }
}

/// Keys that are on a node and belong to no held lock. An arm is `named` as soon as a node has a key with the name of one of its locks.
async fn look(lab: &Lab, arms: &[Watched], named: &mut [bool]) -> HashSet<Entry> {
    let keeps_locks = |name: &NodeName| matches!(name.role, Role::Lock | Role::Replicated) || name.role.is_in_cluster();
    let (mut entries, mut held): (HashSet<Entry>, _) = (HashSet::new(), tokens(arms));
    for node in lab.names().filter(keeps_locks) {
        let keys = lab.keys(node).await.unwrap_or_default();
        let names: Vec<&str> = keys.iter().map(String::as_str).collect();
        let kept = lab.kept(node, &names).await.unwrap_or_default();
        let entry = |(key, kept): (&String, Kept)| match kept {
            Kept::Value(token) => Some((key.clone(), token)),
            Kept::Nothing | Kept::Elsewhere => None,
        };
        entries.extend(keys.iter().zip(kept).filter_map(entry));
    }
    held.extend(tokens(arms));
    for (arm, named) in arms.iter().zip(named).filter(|(arm, _)| arm.is_by_name) {
        *named |= entries.iter().any(|(key, _)| arm.locks_by_name.contains(key));
    }
    // A program may need keys beside its locks; these are no locks.
    let names: Vec<&Watched> = arms.iter().filter(|arm| arm.is_by_name).collect();
    let is_lock = |key: &str| {
        let arm = names.iter().find(|arm| key.starts_with(&arm.prefix));
        arm.is_none_or(|arm| arm.locks_by_name.contains(key))
    };
    entries.retain(|(key, token)| !held.contains(token) && !held.contains(key) && is_lock(key));
    entries
}

/// The values that different nodes have kept for a while of one lock that two held all that time; empty if there is no such lock. Its TTL was
/// over for neither of them, so both should have keys. What a node has lost may explain it, too.
async fn apart(lab: &Lab, arm: &Watched) -> HashSet<String> {
    let held_by_two = || {
        let locks = arm.locks.1.iter().flat_map(|held| held.now());
        let (mut once, mut twice) = (HashSet::new(), HashSet::new());
        for lock in locks.filter(|lock| lock.asked().elapsed() < arm.ttl) {
            let key = lock.key().to_owned();
            if !once.insert(key.clone()) {
                twice.insert(key);
            }
        }
        twice
    };
    let Some(key) = held_by_two().into_iter().next().filter(|_| arm.is_by_name) else {
        return HashSet::new();
    };
    let nodes: Vec<NodeName> = lab.names().filter(|name| name.role == Role::Lock).collect();
    let values = async || {
        let mut all = Vec::new();
        for node in &nodes {
            all.extend(lab.kept(*node, &[&*key]).await.unwrap_or_default().pop());
        }
        all
    };
    let before = values().await;
    sleep(APART).await;
    let after = values().await;
    let mut kept = HashSet::new();
    for (before, after) in before.into_iter().zip(after) {
        match (before, after) {
            (Kept::Value(before), Kept::Value(after)) if before == after => _ = kept.insert(after),
            _ => {}
        }
    }
    match kept.len() > 1 && held_by_two().contains(&key) {
        true => kept,
        false => HashSet::new(),
    }
}

/// What tells the locks that are held now: their tokens, or where these say nothing their names.
fn tokens(arms: &[Watched]) -> HashSet<String> {
    let held = |arm: &Watched| {
        let locks: Vec<HeldLock> = arm.locks.1.iter().flat_map(|held| held.now()).collect();
        let what = |lock: &HeldLock| if arm.is_by_name { lock.key() } else { lock.token() }.to_owned();
        locks.iter().map(what).collect::<Vec<_>>()
    };
    arms.iter().flat_map(held).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::watch::new_master::testing::acquire;
    use crate::workload::HeldLocks;
    use lockstorm_data::scenario::LabSpec;
    use lockstorm_kit::{beside, lab};
    use lockstorm_lock::{NodeOptions, Nodes};

    #[tokio::test]
    async fn a_key_without_a_holder_is_a_zombie_and_a_held_one_is_none() {
        let (options, _turn) = (lab::options(), beside());
        let lab = Arc::new(Lab::up(&LabSpec::of(1), options).await.unwrap());
        let addresses = lab.follow_lock_nodes().into_iter().map(|(_, address)| address);
        let nodes = Nodes::follow(addresses.collect(), NodeOptions::default());
        let held = Arc::new(HeldLocks::default());
        let guards = acquire(&nodes, 0..3).await;
        let holds: Vec<_> = guards[..2]
            .iter()
            .map(|guard| held.enter(0, true, std::time::Instant::now(), "", guard.held_lock()))
            .collect();
        let (sender, mut found) = mpsc::channel(1);
        let arm = |arm, prefix: &str| Watched {
            prefix: prefix.to_owned(),
            is_by_name: false,
            locks_by_name: HashSet::new(),
            ttl: Duration::from_mins(1),
            locks: (arm, vec![Arc::clone(&held)]),
        };
        let arms = vec![arm(4, "key:"), arm(5, "other:")];
        tokio::spawn(watch(Arc::clone(&lab), Duration::ZERO, arms, sender));
        let began = Instant::now();
        let mut next = async || {
            loop {
                let new = found.recv().await.unwrap();
                if new.iter().any(|told| told.zombies > Some(0)) {
                    assert!(!new.iter().any(|told| told.is_apart));
                    break new
                        .iter()
                        .map(|told| (told.arm, told.zombies.unwrap()))
                        .collect::<Vec<_>>();
                }
            }
        };
        assert_eq!(next().await, [(4, 1), (5, 0)], "nobody holds the third one");
        assert!(began.elapsed() >= EVERY * 2, "two looks have found it");
        // It is counted once, and one more is not forgotten for it.
        drop(holds);
        assert_eq!(next().await, [(4, 2), (5, 0)]);
        lab.down().await;
    }

    #[tokio::test]
    async fn keys_of_other_programs_are_told_by_their_names_or_not_at_all() {
        let (options, _turn) = (lab::options(), beside());
        let lab = Arc::new(Lab::up(&LabSpec::of(1), options).await.unwrap());
        let addresses = lab.follow_lock_nodes().into_iter().map(|(_, address)| address);
        let nodes = Nodes::follow(addresses.collect(), NodeOptions::default());
        let held = Arc::new(HeldLocks::default());
        // Its locks are "key:0" and so on.
        let guards = acquire(&nodes, 0..3).await;
        let arm = |arm, names: &[&str]| Watched {
            prefix: "key:".to_owned(),
            is_by_name: true,
            locks_by_name: names.iter().map(|name| (*name).to_owned()).collect(),
            ttl: Duration::from_mins(1),
            locks: (arm, vec![Arc::clone(&held)]),
        };
        let look = async |names: &[&str]| {
            let mut named = [false];
            let suspects = look(&lab, &[arm(1, names)], &mut named).await;
            (suspects.len(), named)
        };
        // The program's keys have other names than its locks.
        assert_eq!(look(&["key:lock:0"]).await, (0, [false]));
        assert_eq!(
            look(&["key:0", "key:1"]).await,
            (2, [true]),
            "key:2 is not one of its locks"
        );
        let _hold = held.enter(0, true, Instant::now(), "", guards[0].held_lock());
        assert_eq!(look(&["key:0", "key:1"]).await, (1, [true]));
        lab.down().await;
    }
}
