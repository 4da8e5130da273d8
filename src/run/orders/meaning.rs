//! What it means for the locks of an arm that nodes have forgotten their keys.

use crate::collect::arm::Arm;
use lockstorm_data::metrics::ConsequenceKind;
use lockstorm_data::scenario::LockNodes;

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
