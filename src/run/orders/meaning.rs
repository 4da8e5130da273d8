//! The consequence of an action in words. The consequence comes first, so that a line that is cut off loses only detail.

use crate::collect::arm::Arm;
use crate::collect::live_swarm::LiveSwarm;
use crate::watch::lab::LiveLab;
use lockstorm_data::metrics::ConsequenceKind;
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::model::{Action, Fault, HostId, Target};
use lockstorm_data::scenario::{LockNodes, Persistence};
use lockstorm_lab::is_back;

/// What it means that `action` took effect on `target`. `lost`: what became of the locks of each arm that a host kept before it
/// forgot them, or that an app server held when it was paused.
pub(crate) fn meaning(
    lab: &LiveLab,
    arms: &[Arm],
    action: Action,
    target: Target,
    lost: &[(usize, ConsequenceKind)],
) -> String {
    let done = action.done_to(target);
    let parts = lost
        .iter()
        .map(|(arm, kind)| format!("{} {kind}", arms[*arm].spec.name));
    let parts: Vec<String> = parts.collect();
    let parts = parts.join("; ");
    match (action, target) {
        (Action::Undo(condition), Target::Host(host)) if condition.forgets() => {
            let back = is_back(host, lab.spec.persistence);
            if lab.spec.persistence != Persistence::None {
                return back;
            }
            match parts.is_empty() {
                true => format!("{back}: no lock was held there"),
                false => format!("{back}: {parts}"),
            }
        }
        (Action::Undo(_), Target::Server(_)) if !parts.is_empty() => format!("{done}: {parts}"),
        (Action::Undo(_) | Action::Fault(Fault::Failover { .. }), _) | (Action::Fault(_), Target::Link(_)) => done,
        (Action::Fault(_), Target::Host(host)) => format!("{done}{}", lab.consequence(host, arms)),
        (Action::Fault(fault), Target::Server(_)) => match fault.meaning_for(target.kind()) {
            None | Some("") => done,
            Some(meaning) => format!("{done}: {meaning}"),
        },
    }
}

/// What it means for an arm that a host which kept the keys of `locks` of its locks is now empty.
pub(crate) fn forgotten(arm: &Arm, locks: u64) -> ConsequenceKind {
    match (arm.spec.nodes(), arm.hosts().len()) {
        (LockNodes::Cluster, _) => ConsequenceKind::ForgotAbout { locks },
        (LockNodes::Master, _) => ConsequenceKind::EmptinessReplicated { locks },
        (_, of @ 2..) => ConsequenceKind::KeptVotes {
            locks,
            votes: of - 1,
            of,
        },
        _ => ConsequenceKind::Forgot { locks },
    }
}

/// For each arm, by position, how many of the locks that are held now have, or had, their key on `host`; arms without
/// any are left out. A lock on several nodes is counted only if it has all votes, because only then is its key
/// certainly on this host: locks acquired while a host is down lack its vote. Of the cluster's locks it is the share of the
/// slots that the host has.
pub(crate) fn locks_on(lab: &LiveLab, arms: &[Arm], swarm: &LiveSwarm, host: HostId) -> Vec<(usize, u64)> {
    let locks = |arm: &Arm| {
        let (holding, partial) = swarm.held(arm.index);
        let whole = holding.saturating_sub(partial);
        let locks = match arm.spec.nodes() {
            LockNodes::Cluster => part(whole, lab.cluster.share_of(host)),
            // A master that is back before there is another one is the master, and empties its replicas.
            LockNodes::Master if lab.roles.had_master_last(host) => whole,
            _ if arm.hosts().contains(&host) => whole,
            _ => 0,
        };
        (arm.index, locks)
    };
    arms.iter().map(locks).filter(|(_, locks)| *locks > 0).collect()
}

fn part(of: u64, share: f64) -> u64 {
    rounded(of as f64 * share)
}
