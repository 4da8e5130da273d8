//! When the lock of an arm was to be had, and from whom.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::metrics::{Grants, Outage};

/// How long grants are kept, in microseconds: the effect of a fault, or a new master, may be noted so much later than it was.
const KEPT_US: i64 = 60_000_000;

/// The grants of one arm, what they say of each hit, and which of them an old master gave. Times are microseconds from second 0.
#[derive(Debug, Default)]
pub(super) struct Availability {
    grants: Grants,
    hits: Vec<Hit>,
    /// The servers that are no masters any more and must grant nothing, and since when.
    old_masters: BTreeMap<SocketAddr, i64>,
    /// Grants by old masters that are masters again, or that are not kept any more.
    by_old_masters: u64,
}

/// The effect of a fault, or a master that became a replica, and the first grant after that.
#[derive(Debug)]
struct Hit {
    at: i64,
    granted: Option<i64>,
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
            hit.granted = hit.granted.or_else(|| self.grants.first_asked_after(hit.at));
        }
        let old = self.grants.split_before(now - KEPT_US);
        self.by_old_masters += old.granted_by(&self.old_masters);
    }

    /// Notes that from now on locks may not be to be had.
    pub fn outage_from(&mut self, at: i64) {
        let granted = self.grants.first_asked_after(at);
        self.hits.push(Hit { at, granted });
    }

    /// Notes that a new master has accepted writes since then. These are its servers; the others are no masters any more.
    pub fn reign(&mut self, since: i64, servers: &[SocketAddr], others: &[SocketAddr]) {
        for server in servers {
            if let Some(old_since) = self.old_masters.remove(server) {
                let as_old_master = |from| self.grants.granted_after(from, &[*server]);
                self.by_old_masters += as_old_master(old_since).saturating_sub(as_old_master(since));
            }
        }
        for other in others {
            self.old_masters.entry(*other).or_insert(since);
        }
    }

    /// For each hit, how long no lock was granted after it; `now` ends those that last.
    pub fn outages(&self, now: i64) -> Vec<Outage> {
        let outage = |hit: &Hit| Outage {
            at: hit.at as f64 / 1e6,
            ms: u64::try_from((hit.granted.unwrap_or(now) - hit.at) / 1000).unwrap_or(0),
            over: hit.granted.is_some(),
        };
        self.hits.iter().map(outage).collect()
    }

    /// How many locks these servers have granted that were asked for after this time.
    pub fn granted_by(&self, servers: &[SocketAddr], since: i64) -> u64 {
        self.grants.granted_after(since, servers)
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

    #[test]
    fn an_outage_lasts_from_the_effect_to_the_next_grant() {
        let mut arm = Availability::default();
        arm.take(&grants(&[(4 * SECOND, 1)]), 5 * SECOND);
        arm.outage_from(5 * SECOND);
        let lasting = &arm.outages(7 * SECOND)[0];
        assert_eq!((lasting.ms, lasting.over), (2000, false));
        arm.take(&grants(&[(8 * SECOND, 1)]), 9 * SECOND);
        arm.outage_from(7 * SECOND);
        let [first, second] = &arm.outages(20 * SECOND)[..] else {
            panic!("there were two faults");
        };
        assert_eq!((first.ms, first.over, second.ms), (3001, true, 1001));
        // Long after, the grant that ended it is not kept any more, and the outage stays as it was.
        arm.take(&grants(&[(200 * SECOND, 1)]), 200 * SECOND);
        assert_eq!(arm.outages(300 * SECOND)[0].ms, 3001);
    }

    #[test]
    fn the_first_grant_of_any_app_server_ends_an_outage() {
        let mut arm = Availability::default();
        arm.outage_from(5 * SECOND);
        arm.add(&grants(&[(5 * SECOND + 80_000, 1)]));
        arm.add(&grants(&[(5 * SECOND + 20_000, 1)]));
        arm.settle(6 * SECOND);
        assert_eq!(arm.outages(7 * SECOND)[0].ms, 21);
    }

    #[test]
    fn only_what_others_grant_after_the_new_master_is_writable_counts() {
        let mut arm = Availability::default();
        let told = |arm: &Availability| arm.granted_by_old_masters();
        arm.take(&grants(&[(SECOND, 1), (2 * SECOND, 1)]), 2 * SECOND);
        assert_eq!(told(&arm), 0, "nobody is an old master");
        // It is noted a second later than it was.
        arm.reign(SECOND + 500_000, &[server(2)], &[server(1)]);
        assert_eq!(told(&arm), 1);
        arm.take(&grants(&[(3 * SECOND, 1), (3 * SECOND, 2)]), 3 * SECOND);
        assert_eq!(told(&arm), 2);
        // And back: what the first one grants from then on is right again, and what it granted before is not.
        arm.reign(4 * SECOND, &[server(1)], &[server(2)]);
        arm.take(&grants(&[(5 * SECOND, 1), (5 * SECOND, 2)]), 5 * SECOND);
        assert_eq!(told(&arm), 3);
        arm.take(&Grants::default(), 500 * SECOND);
        assert_eq!(told(&arm), 3, "what is not kept any more still counts");
    }

    #[test]
    fn masters_of_other_keys_are_no_old_masters() {
        let mut arm = Availability::default();
        arm.reign(SECOND, &[server(4)], &[server(1)]);
        arm.take(
            &grants(&[(2 * SECOND, 1), (2 * SECOND, 2), (2 * SECOND, 4)]),
            2 * SECOND,
        );
        assert_eq!(arm.granted_by_old_masters(), 1);
        // Another one is replaced later; the first one is an old master since it was replaced.
        arm.reign(3 * SECOND, &[server(5)], &[server(2)]);
        arm.take(
            &grants(&[(4 * SECOND, 1), (4 * SECOND, 2), (4 * SECOND, 3)]),
            4 * SECOND,
        );
        assert_eq!(arm.granted_by_old_masters(), 3);
    }
}
