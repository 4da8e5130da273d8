//! How far replicas are behind, by the offsets that masters and replicas tell again and again.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::show::snapshot::Behind;
use lockstorm_data::model::{HostId, ReplicationRole};
use lockstorm_lab::NodeName;

/// How long the offsets of a master are kept.
const KEPT: Duration = Duration::from_mins(1);
/// A replica that is less behind is in step, as far as samples can tell.
const LEAST: Duration = Duration::from_millis(100);
/// A replica that has got nothing for so long, of what its master has had for longer, stands still.
const STILL: Duration = Duration::from_secs(1);

/// The offsets of replicated nodes over time.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    /// Those of each host while it had a master, oldest first.
    masters: BTreeMap<HostId, VecDeque<(Instant, u64)>>,
    /// The newest one of each replica, since when it has that, and how far it is behind.
    replicas: BTreeMap<HostId, (u64, Instant, Option<Behind>)>,
}

impl Offsets {
    /// Takes the roles that were told at `now`.
    pub(crate) fn take(&mut self, now: Instant, roles: &BTreeMap<NodeName, ReplicationRole>) {
        let told = || roles.iter().filter_map(|(name, role)| Some((name.host?, *role)));
        for (host, role) in told() {
            let ReplicationRole::Master { offset, .. } = role else {
                self.masters.remove(&host);
                continue;
            };
            self.replicas.remove(&host);
            let history = self.masters.entry(host).or_default();
            // A master that was restarted counts anew.
            if history.back().is_some_and(|(_, before)| offset < *before) {
                history.clear();
            }
            history.push_back((now, offset));
            while history.front().is_some_and(|(at, _)| now.duration_since(*at) > KEPT) {
                history.pop_front();
            }
        }
        let is_master = |host| told().any(|(of, role)| of == host && matches!(role, ReplicationRole::Master { .. }));
        for (host, role) in told() {
            let ReplicationRole::Replica {
                master,
                connected,
                offset,
            } = role
            else {
                continue;
            };
            // Without a master at the other end it tells no offset that means anything, and is out of sync anyway.
            if !connected || !master.is_some_and(is_master) {
                if let Some((_, _, behind)) = self.replicas.get_mut(&host) {
                    *behind = None;
                }
                continue;
            }
            let before = self.replicas.get(&host).filter(|(before, ..)| *before == offset);
            let since = before.map_or(now, |(_, since, _)| *since);
            let history = master.and_then(|master| self.masters.get(&master));
            let lacks_since = history.and_then(|history| passed(history, offset));
            let time = lacks_since
                .map(|at| now.duration_since(at))
                .filter(|time| *time >= LEAST);
            let behind = time.map(|time| Behind {
                time,
                stands_still: time >= STILL && now.duration_since(since) >= STILL,
            });
            self.replicas.insert(host, (offset, since, behind));
        }
    }

    /// How far the replica on this host is behind; `None` if it is in step, or no replica.
    pub(crate) fn behind(&self, host: HostId) -> Option<Behind> {
        self.replicas.get(&host)?.2
    }
}

/// When a master went beyond this offset, between two samples in proportion; `None` if it has not.
fn passed(history: &VecDeque<(Instant, u64)>, offset: u64) -> Option<Instant> {
    let next = history.partition_point(|(_, at)| *at <= offset);
    let (after, beyond) = *history.get(next)?;
    let Some((before, from)) = next.checked_sub(1).and_then(|last| history.get(last)).copied() else {
        return Some(after);
    };
    let share = (offset - from) as f64 / (beyond - from) as f64;
    Some(before + after.duration_since(before).mul_f64(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_lab::Role;

    const MASTER: HostId = HostId(1);
    const REPLICA: HostId = HostId(2);

    fn roles(master: u64, replica: u64) -> BTreeMap<NodeName, ReplicationRole> {
        let one = ReplicationRole::Master {
            replicas: 1,
            offset: master,
        };
        let other = ReplicationRole::Replica {
            master: Some(MASTER),
            connected: true,
            offset: replica,
        };
        BTreeMap::from([
            (NodeName::on(MASTER, Role::Replicated), one),
            (NodeName::on(REPLICA, Role::Replicated), other),
        ])
    }

    /// What is seen of a replica that has, at each tenth of a second, what `lag` says of a master that writes 1,000 bytes in it.
    fn behind(tenths: u64, replica: impl Fn(u64) -> u64) -> Option<Behind> {
        let (start, mut offsets) = (Instant::now(), Offsets::default());
        for tenth in 0..=tenths {
            let now = start + Duration::from_millis(100 * tenth);
            offsets.take(now, &roles(1_000 * tenth, replica(tenth)));
        }
        offsets.behind(REPLICA)
    }

    #[test]
    fn a_lag_is_the_age_of_what_a_replica_lacks() {
        assert_eq!(behind(30, |tenth| 1_000 * tenth), None, "in step");
        assert_eq!(behind(30, |tenth| (1_000 * tenth).saturating_sub(500)), None, "nearly");
        let lagging = behind(30, |tenth| (1_000 * tenth).saturating_sub(4_800)).unwrap();
        assert!(lagging.time.abs_diff(Duration::from_millis(480)) < Duration::from_millis(1));
        assert!(!lagging.stands_still);
        let slow = behind(30, |tenth| (1_000 * tenth).saturating_sub(15_000)).unwrap();
        assert!(slow.time > STILL && !slow.stands_still, "it moves");
    }

    #[test]
    fn a_replica_that_gets_nothing_stands_still_if_there_is_something_to_get() {
        let cut = behind(30, |tenth| 1_000 * tenth.min(10)).unwrap();
        assert!(cut.stands_still);
        assert!(
            cut.time.abs_diff(Duration::from_secs(2)) < Duration::from_millis(1),
            "{cut:?}"
        );
        let quiet = behind(8, |tenth| 1_000 * tenth.min(5)).unwrap();
        assert!(!quiet.stands_still, "not long enough to tell");
        let (start, mut offsets) = (Instant::now(), Offsets::default());
        for second in 0..5 {
            offsets.take(start + Duration::from_secs(second), &roles(700, 700));
        }
        assert_eq!(offsets.behind(REPLICA), None, "nobody writes");
    }

    #[test]
    fn a_replica_without_a_master_is_not_behind() {
        let (start, mut offsets) = (Instant::now(), Offsets::default());
        let at = |tenth: u64| start + Duration::from_millis(100 * tenth);
        for tenth in 0..40 {
            offsets.take(at(tenth), &roles(1_000 * tenth, 1_000 * tenth));
        }
        // The connection breaks: it tells -1, which is read as 0.
        let mut broken = roles(41_000, 0);
        let lost = ReplicationRole::Replica {
            master: Some(MASTER),
            connected: false,
            offset: 0,
        };
        broken.insert(NodeName::on(REPLICA, Role::Replicated), lost);
        offsets.take(at(41), &broken);
        assert_eq!(offsets.behind(REPLICA), None);
        // The master does not answer any more.
        let mut alone = roles(0, 39_000);
        alone.remove(&NodeName::on(MASTER, Role::Replicated));
        offsets.take(at(60), &alone);
        assert_eq!(offsets.behind(REPLICA), None);
        offsets.take(at(61), &roles(61_000, 41_000));
        assert!(offsets.behind(REPLICA).is_some());
    }

    #[test]
    fn a_new_master_is_not_behind_and_a_restarted_one_counts_anew() {
        let (start, mut offsets) = (Instant::now(), Offsets::default());
        offsets.take(start, &roles(9_000, 0));
        offsets.take(start + STILL, &roles(9_500, 0));
        assert!(offsets.behind(REPLICA).is_some());
        offsets.take(start + STILL * 2, &roles(50, 50));
        assert_eq!(offsets.behind(REPLICA), None);
        assert_eq!(offsets.behind(MASTER), None);
    }
}
