//! When the lock of an arm was available, and from whom.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use lockstorm_data::metrics::{Consequence, ConsequenceKind, Grants, Outage};

/// How long grants are kept, in microseconds: the effect of a fault, or a new master, may be noted so much later than it was.
const KEPT_US: i64 = 60_000_000;

/// Who is refused within this time of an effect, in microseconds, shows that it has been so since.
const SOON_US: i64 = 1_000_000;

/// The grants of one arm, what they say of each hit, and which of them an old master gave. Times are microseconds from second 0.
#[derive(Debug, Default)]
pub(crate) struct Availability {
    grants: Grants,
    hits: Vec<Hit>,
    /// The servers that are no masters any more and must grant nothing, and since when.
    old_masters: BTreeMap<SocketAddr, i64>,
    /// Grants by old masters that are masters again, or that are not kept any more.
    by_old_masters: u64,
    /// Since when there has been an old master for the first time.
    first_old_master: Option<i64>,
}

/// The effect of a fault on one of its targets, or a master that became a replica, and what attempts after that have shown.
#[derive(Debug)]
struct Hit {
    at: i64,
    /// The number of the fault, which may have several targets; `None` if nothing else belongs to this one.
    fault: Option<usize>,
    /// The event that brought it about.
    event: Option<u64>,
    /// When the first attempt was asked that was refused for lack of nodes before locks were available again.
    refused: Option<i64>,
    /// How long it was until they were, once they are.
    lasted: Option<i64>,
}

impl Hit {
    /// Takes in what attempts have shown so far.
    fn look(&mut self, grants: &Grants) {
        if self.lasted.is_some() {
            return;
        }
        let had = grants.first_had_after(self.at);
        let until = had.map_or(i64::MAX, |had| had.answered);
        self.refused = self.refused.or_else(|| grants.first_refused(self.at, until));
        self.lasted = had.map(|had| {
            // Without a refusal what counts is how long answers took, also those to what was asked before.
            let seen = had.answered - had.asked + grants.late_at(self.at);
            let unrefused = || seen.min(had.answered - self.at);
            self.since().map_or_else(unrefused, |since| had.answered - since)
        });
    }

    /// Since when locks were unavailable, if somebody was refused: since the effect, if that was soon after it. A longer time in
    /// which nobody asked shows nothing.
    fn since(&self) -> Option<i64> {
        let first = self.refused?;
        Some(if first - self.at <= SOON_US { self.at } else { first })
    }

    /// What has been seen of it until `now`; `None` if nobody has asked since.
    fn outage(&self, now: i64) -> Option<Outage> {
        let lasts = || self.since().map(|since| now - since);
        Some(Outage {
            at: self.at as f64 / 1e6,
            event: self.event,
            lasted_us: u64::try_from(self.lasted.or_else(lasts)?).unwrap_or(0),
            over: self.lasted.is_some(),
        })
    }
}

impl Availability {
    /// Takes in the new grants of one app server.
    pub fn add(&mut self, new: &Grants) {
        self.grants.add(new);
    }

    /// Ends outages, once the grants of all app servers until `now` were taken in: the first of one may be later than that of
    /// another.
    pub fn settle(&mut self, now: i64) {
        for hit in &mut self.hits {
            hit.look(&self.grants);
        }
        let old = self.grants.split_before(now - KEPT_US);
        self.by_old_masters += old.granted_by(&self.old_masters);
    }

    /// Notes that from `at` on locks may be unavailable, because of this fault if it has a number, by this event.
    pub fn outage_from(&mut self, at: i64, fault: Option<usize>, event: Option<u64>) {
        let mut hit = Hit {
            at,
            fault,
            event,
            refused: None,
            lasted: None,
        };
        hit.look(&self.grants);
        self.hits.push(hit);
    }

    /// Notes that a new master has accepted writes since then. These are its servers; the others are no masters any more.
    pub fn new_master(&mut self, since: i64, servers: &[SocketAddr], others: &[SocketAddr]) {
        for server in servers {
            if let Some(old_since) = self.old_masters.remove(server) {
                let as_old_master = |from| self.grants.granted_after(from, &[*server]);
                self.by_old_masters += as_old_master(old_since).saturating_sub(as_old_master(since));
            }
        }
        if !others.is_empty() {
            self.first_old_master.get_or_insert(since);
        }
        for other in others {
            self.old_masters.entry(*other).or_insert(since);
        }
    }

    /// For each fault, and each master that became a replica, how long its lock was unavailable after it, if somebody asked; `now`
    /// ends those that last. Of a fault with several targets it is the longest time after the effect on one of them.
    pub fn outages(&self, now: i64) -> Vec<Outage> {
        let mut outages: Vec<(Option<usize>, Outage)> = Vec::new();
        for hit in &self.hits {
            let Some(outage) = hit.outage(now) else { continue };
            let same = |(fault, _): &&mut (Option<usize>, Outage)| hit.fault.is_some() && *fault == hit.fault;
            match outages.iter_mut().find(same) {
                Some((_, longest)) if longest.lasted_us >= outage.lasted_us => {}
                Some((_, longest)) => *longest = outage,
                None => outages.push((hit.fault, outage)),
            }
        }
        outages.into_iter().map(|(_, outage)| outage).collect()
    }

    /// How many locks these servers have granted that were asked for after this time.
    pub fn granted_by(&self, servers: &[SocketAddr], since: i64) -> u64 {
        self.grants.granted_after(since, servers)
    }

    /// What old masters have granted as a consequence, if they have: since there was the first of them.
    pub fn by_old_masters(&self) -> Option<Consequence> {
        let locks = self.granted_by_old_masters();
        let since = self.first_old_master.filter(|_| locks > 0)?;
        Some(Consequence {
            at: since as f64 / 1e6,
            event: None,
            kind: ConsequenceKind::GrantedByOldMaster { locks },
        })
    }

    /// How many locks old masters have granted after a new one was writable.
    pub fn granted_by_old_masters(&self) -> u64 {
        self.by_old_masters + self.grants.granted_by(&self.old_masters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Availability {
        fn take(&mut self, new: &Grants, now: i64) {
            self.add(new);
            self.settle(now);
        }
    }

    const SECOND: i64 = 1_000_000;

    fn server(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn grants(of: &[(i64, u16)]) -> Grants {
        let mut grants = Grants::default();
        for (at, port) in of {
            grants.count(*at, at + 1_000, Some(server(*port)));
        }
        grants
    }

    /// Attempts that were asked at these times and not granted, because somebody else holds the lock or for lack of nodes.
    fn others(of: &[(i64, bool)]) -> Grants {
        let mut grants = Grants::default();
        for (at, held) in of {
            grants.not_granted(*at, at + 1_000, *held);
        }
        grants
    }

    /// How long outages were, in milliseconds, and whether they are over.
    fn lengths(arm: &Availability, now: i64) -> Vec<(u64, bool)> {
        let outages = arm.outages(now);
        outages
            .iter()
            .map(|outage| (outage.lasted_us / 1000, outage.over))
            .collect()
    }

    #[test]
    fn an_outage_lasts_from_the_effect_to_the_next_grant() {
        let mut arm = Availability::default();
        arm.take(&grants(&[(4 * SECOND, 1)]), 5 * SECOND);
        arm.outage_from(5 * SECOND, None, None);
        arm.take(
            &others(&[(6 * SECOND, false), (7 * SECOND + 500_000, false)]),
            7 * SECOND,
        );
        let lasting = &arm.outages(7 * SECOND)[0];
        assert_eq!((lasting.lasted_us, lasting.over), (2_000_000, false));
        arm.take(&grants(&[(8 * SECOND, 1)]), 9 * SECOND);
        arm.outage_from(7 * SECOND, None, None);
        let [first, second] = &arm.outages(20 * SECOND)[..] else {
            panic!("there were two faults");
        };
        assert_eq!(
            (first.lasted_us, first.over, second.lasted_us),
            (3_001_000, true, 1_001_000)
        );
        // Long after, the grant that ended it is not kept any more, and the outage stays as it was.
        arm.take(&grants(&[(200 * SECOND, 1)]), 200 * SECOND);
        assert_eq!(arm.outages(300 * SECOND)[0].lasted_us, 3_001_000);
    }

    #[test]
    fn an_outage_ends_when_somebody_hears_that_the_lock_is_held() {
        let mut arm = Availability::default();
        arm.outage_from(5 * SECOND, None, None);
        arm.take(&others(&[(6 * SECOND, false), (7 * SECOND, true)]), 8 * SECOND);
        arm.take(&others(&[(8 * SECOND, false)]), 9 * SECOND);
        arm.take(&grants(&[(9 * SECOND, 1)]), 10 * SECOND);
        assert_eq!(lengths(&arm, 20 * SECOND), [(2001, true)]);
    }

    #[test]
    fn time_in_which_nobody_asks_is_no_outage() {
        let mut arm = Availability::default();
        arm.outage_from(5 * SECOND, None, None);
        arm.settle(7 * SECOND);
        assert_eq!(lengths(&arm, 7 * SECOND), [], "nothing has been seen");
        // What was asked before was answered late, and then somebody hears at once that the lock is held.
        let mut before = Grants::default();
        before.count(4 * SECOND, 5 * SECOND + 500_000, None);
        arm.take(&before, 8 * SECOND);
        arm.take(&others(&[(9 * SECOND, true)]), 10 * SECOND);
        assert_eq!(lengths(&arm, 20 * SECOND), [(501, true)]);
        // Who asks first is refused, long after the effect: nobody knows what was before.
        arm.outage_from(10 * SECOND, None, None);
        arm.take(&others(&[(13 * SECOND, false)]), 14 * SECOND);
        arm.settle(200 * SECOND);
        arm.take(&grants(&[(201 * SECOND, 1)]), 202 * SECOND);
        assert_eq!(lengths(&arm, 300 * SECOND)[1], (188_001, true));
    }

    #[test]
    fn a_fault_with_several_targets_is_one_outage() {
        let mut arm = Availability::default();
        arm.outage_from(5 * SECOND, Some(1), None);
        arm.take(&grants(&[(5 * SECOND + 100_000, 1)]), 6 * SECOND);
        arm.outage_from(5 * SECOND + 200_000, Some(1), None);
        arm.outage_from(5 * SECOND + 200_000, Some(2), None);
        arm.outage_from(5 * SECOND + 200_000, None, None);
        arm.outage_from(5 * SECOND + 200_000, None, None);
        let refused: Vec<_> = (6..9).map(|second| (second * SECOND, false)).collect();
        arm.take(&others(&refused), 9 * SECOND);
        assert_eq!(lengths(&arm, 9 * SECOND), [(3800, false); 4]);
        arm.take(&grants(&[(10 * SECOND, 1)]), 11 * SECOND);
        assert_eq!(lengths(&arm, 20 * SECOND), [(4801, true); 4]);
    }

    #[test]
    fn the_first_grant_of_any_app_server_ends_an_outage() {
        let mut arm = Availability::default();
        arm.outage_from(5 * SECOND, None, None);
        arm.add(&others(&[(5 * SECOND + 10_000, false)]));
        arm.add(&grants(&[(5 * SECOND + 80_000, 1)]));
        arm.add(&grants(&[(5 * SECOND + 20_000, 1)]));
        arm.settle(6 * SECOND);
        assert_eq!(arm.outages(7 * SECOND)[0].lasted_us, 21_000);
    }

    #[test]
    fn only_what_others_grant_after_the_new_master_is_writable_counts() {
        let mut arm = Availability::default();
        let told = |arm: &Availability| arm.granted_by_old_masters();
        arm.take(&grants(&[(SECOND, 1), (2 * SECOND, 1)]), 2 * SECOND);
        assert_eq!(told(&arm), 0, "nobody is an old master");
        // It is noted a second later than it was.
        arm.new_master(SECOND + 500_000, &[server(2)], &[server(1)]);
        assert_eq!(told(&arm), 1);
        arm.take(&grants(&[(3 * SECOND, 1), (3 * SECOND, 2)]), 3 * SECOND);
        assert_eq!(told(&arm), 2);
        // And back: what the first one grants from then on is right again, and what it granted before is not.
        arm.new_master(4 * SECOND, &[server(1)], &[server(2)]);
        arm.take(&grants(&[(5 * SECOND, 1), (5 * SECOND, 2)]), 5 * SECOND);
        assert_eq!(told(&arm), 3);
        arm.take(&Grants::default(), 500 * SECOND);
        assert_eq!(told(&arm), 3, "what is not kept any more still counts");
    }

    #[test]
    fn masters_of_other_keys_are_no_old_masters() {
        let mut arm = Availability::default();
        arm.new_master(SECOND, &[server(4)], &[server(1)]);
        arm.take(
            &grants(&[(2 * SECOND, 1), (2 * SECOND, 2), (2 * SECOND, 4)]),
            2 * SECOND,
        );
        assert_eq!(arm.granted_by_old_masters(), 1);
        // Another one is replaced later; the first one is an old master since it was replaced.
        arm.new_master(3 * SECOND, &[server(5)], &[server(2)]);
        arm.take(
            &grants(&[(4 * SECOND, 1), (4 * SECOND, 2), (4 * SECOND, 3)]),
            4 * SECOND,
        );
        assert_eq!(arm.granted_by_old_masters(), 3);
    }
}
