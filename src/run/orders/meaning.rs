//! What it means for the locks of an arm that nodes have forgotten their keys.

use crate::collect::arm::Arm;
use crate::collect::hold_audit::Hit;
use lockstorm_data::metrics::ConsequenceKind;
use lockstorm_data::scenario::LockNodes;

/// What it means for an arm that nodes are back which have lost the keys of held locks.
pub(crate) fn forgotten(arm: &Arm, hit: Hit) -> Vec<ConsequenceKind> {
    let (of, locks) = (arm.voters.len(), hit.exposed);
    let gone = match arm.spec.nodes() {
        LockNodes::Master => ConsequenceKind::EmptinessReplicated { locks },
        _ => ConsequenceKind::Forgot { locks },
    };
    let kept = ConsequenceKind::KeptVotes {
        locks: hit.covered,
        votes: hit.votes.unwrap_or(0),
        of,
    };
    let both = [(locks, gone), (hit.covered, kept)];
    both.into_iter()
        .filter(|(locks, _)| *locks > 0)
        .map(|(_, kind)| kind)
        .collect()
}
