//! The consequence of an action in words. The consequence comes first, so that a line that is cut off loses only detail.

use crate::collect::arm::Arm;
use crate::watch::lab::LiveLab;
use lockstorm_data::metrics::ConsequenceKind;
use lockstorm_data::model::{Action, Fault, Target};
use lockstorm_data::scenario::{LockNodes, Persistence};
use lockstorm_lab::is_back;

/// What it means that `action` took effect on `target`. `lost`: what became of the held locks of each arm that a host has forgotten,
/// or that an app server held when it was paused.
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
            match (parts.is_empty(), lab.spec.persistence) {
                (true, Persistence::None) => format!("{back}: it has forgotten no lock that is held"),
                (true, _) => back,
                (false, _) => format!("{back}: {parts}"),
            }
        }
        (Action::Undo(_), Target::Server(_)) if !parts.is_empty() => format!("{done}: {parts}"),
        (Action::Undo(_) | Action::Fault(Fault::Failover { .. }), _) | (Action::Fault(_), Target::Link(_)) => done,
        (Action::Fault(_), Target::Host(host)) => format!("{done}{}", lab.consequence(host, arms)),
        (Action::Fault(fault), Target::Server(_) | Target::Client(_)) => match fault.meaning_for(target.kind()) {
            None | Some("") => done,
            Some(meaning) => format!("{done}: {meaning}"),
        },
    }
}

/// What it means for an arm that nodes are back which have lost the keys of held locks: so many don't keep others out any more (`locks`), and
/// `covered` have enough other votes for that.
pub(crate) fn forgotten(arm: &Arm, locks: u64, covered: u64) -> Vec<ConsequenceKind> {
    let of = arm.voters.len();
    let gone = match arm.spec.nodes() {
        LockNodes::Master => ConsequenceKind::EmptinessReplicated { locks },
        _ => ConsequenceKind::Forgot { locks },
    };
    let kept = ConsequenceKind::KeptVotes {
        locks: covered,
        votes: of.saturating_sub(1),
        of,
    };
    let both = [(locks, gone), (covered, kept)];
    both.into_iter()
        .filter(|(locks, _)| *locks > 0)
        .map(|(_, kind)| kind)
        .collect()
}
