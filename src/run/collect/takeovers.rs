//! How long it took until locks whose holder had died were granted again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use lockstorm_data::metrics::{Watched, WatchedGrant};

/// The orphans of one arm: locks that were held by an app server when it was killed. Times are microseconds from second 0.
#[derive(Debug, Default)]
pub(crate) struct Takeovers {
    /// The kills that were ordered and are not verified yet. Until then every grant is kept: the first one of an orphan may come
    /// before it is known that it is one.
    kills: usize,
    recent: Vec<WatchedGrant>,
    /// By their keys; the same key may be orphaned twice.
    orphans: HashMap<Box<str>, Vec<Orphan>>,
    /// How many locks were orphaned.
    pub count: u64,
}

#[derive(Debug)]
struct Orphan {
    since: i64,
    granted: Option<i64>,
}

impl Takeovers {
    /// Notes that an app server is about to be killed.
    pub fn expect(&mut self) {
        self.kills += 1;
    }

    /// Notes what became of that: the app server was dead from `since` on and these locks are orphans, or it lives.
    pub fn killed(&mut self, dead: Option<(i64, Vec<String>)>) {
        self.kills = self.kills.saturating_sub(1);
        if let Some((since, keys)) = dead {
            self.count += keys.len() as u64;
            for key in keys {
                let granted = self
                    .recent
                    .iter()
                    .filter(|grant| *grant.key == *key && grant.at > since);
                let granted = granted.map(|grant| grant.at).min();
                let orphans = self.orphans.entry(key.into()).or_default();
                orphans.push(Orphan { since, granted });
            }
        }
        if self.kills == 0 {
            self.recent = Vec::new();
        }
    }

    /// Takes in new grants of one app server.
    pub fn add(&mut self, grants: &[WatchedGrant]) {
        for grant in grants {
            let orphans = self.orphans.get_mut(&grant.key).map(Vec::as_mut_slice);
            for orphan in orphans.unwrap_or_default() {
                if grant.at > orphan.since {
                    orphan.granted = Some(orphan.granted.map_or(grant.at, |granted| granted.min(grant.at)));
                }
            }
        }
        if self.kills > 0 {
            self.recent.extend_from_slice(grants);
        }
    }

    /// The takeovers that are certain, once the grants of all app servers until `now` were taken in: of what came later, the first
    /// one may not be known yet.
    pub fn settle(&mut self, now: i64) -> Vec<Duration> {
        let mut took = Vec::new();
        self.orphans.retain(|_, orphans| {
            orphans.retain(|orphan| match orphan.granted {
                Some(granted) if granted <= now => {
                    took.push(Duration::from_micros((granted - orphan.since).unsigned_abs()));
                    false
                }
                _ => true,
            });
            !orphans.is_empty()
        });
        took
    }

    /// The locks whose grants must be kept.
    pub fn watched(&self) -> Watched {
        if self.kills > 0 {
            Watched::All
        } else if self.orphans.is_empty() {
            Watched::Nothing
        } else {
            Watched::These(Arc::new(self.orphans.keys().cloned().collect::<BTreeSet<_>>()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1000;

    fn grants(of: &[(&str, i64)]) -> Vec<WatchedGrant> {
        let grant = |(key, at): &(&str, i64)| WatchedGrant {
            key: (*key).into(),
            at: *at,
        };
        of.iter().map(grant).collect()
    }

    fn millis(took: &[Duration]) -> Vec<u128> {
        took.iter().map(Duration::as_millis).collect()
    }

    #[test]
    fn a_takeover_lasts_from_the_death_to_the_next_grant_of_that_key() {
        let mut arm = Takeovers::default();
        assert_eq!(arm.watched(), Watched::Nothing);
        arm.expect();
        assert_eq!(arm.watched(), Watched::All);
        // One was granted before the death, one after it but before it was reported.
        arm.add(&grants(&[("a", 90 * MS), ("b", 130 * MS)]));
        arm.killed(Some((100 * MS, vec!["a".into(), "b".into(), "c".into()])));
        assert_eq!(arm.count, 3);
        assert!(arm.watched().has("a") && !arm.watched().has("d"));
        assert_eq!(millis(&arm.settle(200 * MS)), [30]);
        // The second app server's grant was the first one, and it is known only after the visit of both.
        arm.add(&grants(&[("a", 420 * MS), ("d", 310 * MS)]));
        assert!(arm.settle(400 * MS).is_empty());
        arm.add(&grants(&[("a", 410 * MS)]));
        assert_eq!(millis(&arm.settle(500 * MS)), [310]);
        arm.add(&grants(&[("a", 600 * MS)]));
        assert!(arm.settle(700 * MS).is_empty(), "the next grants of a key say nothing");
        assert!(arm.watched().has("c") && !arm.watched().has("a"));
    }

    #[test]
    fn without_a_death_and_without_another_grant_there_is_no_takeover() {
        let mut arm = Takeovers::default();
        arm.add(&grants(&[("a", 10 * MS)]));
        arm.expect();
        arm.add(&grants(&[("a", 20 * MS)]));
        // The kill failed.
        arm.killed(None);
        arm.add(&grants(&[("a", 30 * MS)]));
        assert_eq!((arm.settle(1000 * MS), arm.count), (Vec::new(), 0));
        assert_eq!(arm.watched(), Watched::Nothing);
        arm.expect();
        arm.killed(Some((40 * MS, vec!["a".into()])));
        arm.add(&grants(&[("b", 50 * MS)]));
        assert_eq!((arm.settle(1000 * MS), arm.count), (Vec::new(), 1));
    }

    #[test]
    fn a_key_that_is_orphaned_again_has_two_takeovers() {
        let mut arm = Takeovers::default();
        for since in [100, 300] {
            arm.expect();
            arm.killed(Some((since * MS, vec!["a".into()])));
        }
        arm.add(&grants(&[("a", 250 * MS), ("a", 450 * MS)]));
        assert_eq!(millis(&arm.settle(500 * MS)), [150, 150]);
        assert_eq!(arm.watched(), Watched::Nothing);
    }
}
