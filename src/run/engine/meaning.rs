//! The consequence of an action in words. The consequence comes first, so that a line that is cut off loses only detail.

use crate::engine::state::Engine;
use lockstorm_data::metrics::units::{count, counted};
use lockstorm_data::model::{Action, Fault, HostId, Target};
use lockstorm_data::scenario::{LockNodes, Persistence};
use lockstorm_lab::is_back;

impl Engine {
    /// What it means that `action` took effect on `target`. `held`: the locks that a host kept before it forgot them.
    pub(crate) fn meaning(&self, action: Action, target: Target, held: &[(usize, u64)]) -> String {
        let done = action.done_to(target);
        match (action, target) {
            (Action::Undo(condition), Target::Host(host)) if condition.forgets() => self.memory(host, held),
            (Action::Undo(_) | Action::Fault(Fault::Failover { .. }), _) | (Action::Fault(_), Target::Link(_)) => done,
            (Action::Fault(_), Target::Host(host)) => format!("{done}{}", self.consequence(host)),
            (Action::Fault(fault), Target::Server(_)) => match fault.meaning_for(target.kind()) {
                None | Some("") => done,
                Some(meaning) => format!("{done}: {meaning}"),
            },
        }
    }

    /// What a host that is back still knows.
    fn memory(&self, host: HostId, held: &[(usize, u64)]) -> String {
        let persistence = self.scenario.lab.persistence;
        let back = is_back(host, persistence);
        if persistence != Persistence::None {
            return back;
        }
        if held.is_empty() {
            return format!("{back}: no lock was held there");
        }
        let parts: Vec<String> = held.iter().map(|&(arm, locks)| self.forgotten(arm, locks)).collect();
        format!("{back}: {}", parts.join("; "))
    }

    /// What it means for an arm that a host which kept the keys of `locks` of its locks is now empty.
    fn forgotten(&self, arm: usize, locks: u64) -> String {
        let spec = &self.arms[arm].spec;
        if spec.nodes() == LockNodes::Cluster {
            let held = counted(locks, "held lock", "held locks");
            return format!("about {held} of {} {} forgotten", spec.name, is_or_are(locks));
        }
        match spec.hosts_in(&self.scenario.lab).len() {
            hosts @ 2.. => {
                let keep = if locks == 1 { "keeps" } else { "keep" };
                format!(
                    "{} of {} {keep} {} of {hosts} votes",
                    count(locks),
                    spec.name,
                    hosts - 1
                )
            }
            _ => {
                let held = counted(locks, "held lock", "held locks");
                format!("{held} of {} {} forgotten", spec.name, is_or_are(locks))
            }
        }
    }

    /// For each arm, by position, how many of the locks that are held now have, or had, their key on `host`; arms without
    /// any are left out. A lock on several nodes is counted only if it has all votes, because only then is its key
    /// certainly on this host: locks acquired while a host is down lack its vote. Of the cluster's locks it is the share of the
    /// slots that the host has.
    pub(crate) fn locks_on(&self, host: HostId) -> Vec<(usize, u64)> {
        (0..self.arms.len())
            .filter(|&arm| {
                let spec = &self.arms[arm].spec;
                // A master that is back before there is another one is the master, and empties its replicas.
                let by_master = spec.nodes() == LockNodes::Master && self.lab.last_masters.contains(&host);
                let by_cluster = spec.nodes() == LockNodes::Cluster;
                by_master || by_cluster || spec.hosts_in(&self.scenario.lab).contains(&host)
            })
            .map(|arm| {
                let (holding, partial) = self.swarm.held(arm);
                let whole = holding.saturating_sub(partial);
                match self.arms[arm].spec.nodes() {
                    LockNodes::Cluster => (arm, part(whole, self.lab.cluster.share_of(host))),
                    _ => (arm, whole),
                }
            })
            .filter(|(_, locks)| *locks > 0)
            .collect()
    }
}

const fn is_or_are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of a small number"
)]
fn part(of: u64, share: f64) -> u64 {
    (of as f64 * share).round() as u64
}
