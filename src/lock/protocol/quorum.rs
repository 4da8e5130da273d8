//! The arithmetic of quorums and of validity.

use std::time::Duration;

use super::per_node::PerNode;
use super::time::Time;

/// The most nodes that a lock can have.
pub const MAX_NODES: usize = 64;

/// The number of votes needed for a lock: more than half of the nodes, so that two quorums always share a node.
#[must_use]
pub const fn quorum(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// The part of a TTL that a lock may be relied on: the TTL less 1 % for clocks that run at different rates and 2 ms for the
/// precision of expiry. It counts from before the command was queued, so it is Redlock's `TTL − elapsed − drift`.
#[must_use]
pub fn validity(ttl: Duration) -> Duration {
    ttl.saturating_sub(ttl / 100 + Duration::from_millis(2))
}

/// Until when a quorum of keys exists, given for each node until when its key exists: the earliest of the quorum's latest
/// times. `None` if fewer keys than a quorum exist.
#[must_use]
pub fn valid_until(keys: impl ExactSizeIterator<Item = Option<Time>>) -> Option<Time> {
    let nodes = keys.len();
    let mut times = PerNode::<Time>::new(nodes);
    let mut count = 0;
    for time in keys.flatten() {
        times[count] = time;
        count += 1;
    }
    let earliest = count.checked_sub(quorum(nodes))?;
    let times = &mut times[..count];
    times.sort_unstable();
    times.get(earliest).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn two_quorums_always_share_a_node(nodes in 1usize..100) {
            prop_assert!(2 * quorum(nodes) > nodes);
            prop_assert!(quorum(nodes) <= nodes);
        }

        #[test]
        fn at_the_end_of_the_validity_a_quorum_of_keys_is_there_and_later_none(
            keys in prop::collection::vec(prop::option::of(0u64..100), 1..10),
        ) {
            let there = |at: u64| keys.iter().flatten().filter(|&&until| until >= at).count();
            match valid_until(keys.iter().map(|key| key.map(Time::from_nanos))) {
                Some(end) => {
                    prop_assert!(there(end.as_nanos()) >= quorum(keys.len()));
                    prop_assert!(there(end.as_nanos() + 1) < quorum(keys.len()));
                }
                None => prop_assert!(there(0) < quorum(keys.len())),
            }
        }

        #[test]
        fn less_than_the_ttl_is_relied_on(millis in 0u64..10_000_000) {
            let ttl = Duration::from_millis(millis);
            let kept = validity(ttl);
            prop_assert!(kept + ttl / 100 + Duration::from_millis(2) == ttl || kept.is_zero());
        }
    }
}
