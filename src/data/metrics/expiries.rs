use std::collections::{HashMap, VecDeque};

use super::figures::HitsPerExpiry;
use super::recorder::ProviderCall;
use super::timeline::Part;

/// How many versions of a key stay open for late calls. A call for an older version would come a whole expiry late.
const OPEN_VERSIONS: usize = 4;

/// Counts provider calls for each superseded version of a value. Time windows would miscount, because a stampede that
/// queues at the database outlasts any window.
///
/// A version counts if its whole stampede was seen: its first call belongs to the measured part, and it was refilled
/// before the load ended.
#[derive(Debug, Default)]
pub struct Expiries {
    open: HashMap<(u32, u64), VecDeque<Version>>,
    /// Sums of the versions that are no longer open.
    closed: Sum,
}

#[derive(Debug, Clone, Copy)]
struct Version {
    superseded: u64,
    calls: u64,
    begun_in: Part,
    refilled: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    expiries: u64,
    calls: u64,
    max: u64,
}

impl Sum {
    fn add(&mut self, version: &Version) {
        if version.begun_in == Part::Measured && version.refilled {
            self.expiries += 1;
            self.calls += version.calls;
            self.max = self.max.max(version.calls);
        }
    }
}

impl Expiries {
    /// Counts one call. A cold start supersedes nothing, so it is not an expiry and is left out.
    pub fn count(&mut self, call: ProviderCall, part: Part) {
        if let Some(version) = self.version(call, part) {
            version.calls += 1;
        }
    }

    /// Notes that the value that a call fetched is in the cache, before the load ended.
    pub fn refilled(&mut self, call: ProviderCall, part: Part) {
        if let Some(version) = self.version(call, part) {
            version.refilled = true;
        }
    }

    fn version(&mut self, call: ProviderCall, part: Part) -> Option<&mut Version> {
        if call.supersedes == 0 {
            return None;
        }
        let versions = self.open.entry((call.cache, call.key)).or_default();
        let known = versions
            .iter()
            .position(|version| version.superseded == call.supersedes);
        let index = known.unwrap_or_else(|| {
            if versions.len() == OPEN_VERSIONS
                && let Some(oldest) = versions.pop_front()
            {
                self.closed.add(&oldest);
            }
            versions.push_back(Version {
                superseded: call.supersedes,
                calls: 0,
                begun_in: part,
                refilled: false,
            });
            versions.len() - 1
        });
        let version = versions.get_mut(index)?;
        if part == Part::WarmUp {
            // The collector may see the calls of app servers in another order than they were made in.
            version.begun_in = Part::WarmUp;
        }
        Some(version)
    }

    /// The result so far.
    pub fn hits_per_expiry(&self) -> HitsPerExpiry {
        let mut sum = self.closed;
        for version in self.open.values().flatten() {
            sum.add(version);
        }
        let mean = if sum.expiries == 0 {
            0.0
        } else {
            sum.calls as f64 / sum.expiries as f64
        };
        HitsPerExpiry {
            expiries: sum.expiries,
            mean,
            max: sum.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(key: u64, supersedes: u64) -> ProviderCall {
        ProviderCall {
            cache: 0,
            key,
            supersedes,
        }
    }

    /// Calls for the given versions of a key, each followed by its refill.
    fn measured(expiries: &mut Expiries, key: u64, versions: &[u64]) {
        for &version in versions {
            expiries.count(call(key, version), Part::Measured);
            expiries.refilled(call(key, version), Part::Measured);
        }
    }

    #[test]
    fn one_call_per_version_is_perfect() {
        let mut expiries = Expiries::default();
        measured(&mut expiries, 1, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let perfect = HitsPerExpiry {
            expiries: 10,
            mean: 1.0,
            max: 1,
        };
        assert_eq!(expiries.hits_per_expiry(), perfect);
    }

    #[test]
    fn calls_for_one_version_add_up_even_when_they_come_late() {
        let mut expiries = Expiries::default();
        measured(&mut expiries, 1, &[1, 1, 1, 4, 1, 4]);
        measured(&mut expiries, 2, &[1]);
        let hits = expiries.hits_per_expiry();
        assert_eq!((hits.expiries, hits.max), (3, 4));
        assert!((hits.mean - 7.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_cold_start_is_not_an_expiry() {
        let mut expiries = Expiries::default();
        measured(&mut expiries, 1, &[0]);
        assert_eq!(expiries.hits_per_expiry(), HitsPerExpiry::default());
    }

    #[test]
    fn a_stampede_that_began_in_the_warm_up_is_left_out_whole() {
        let mut expiries = Expiries::default();
        expiries.count(call(1, 5), Part::WarmUp);
        measured(&mut expiries, 1, &[5, 5, 6]);
        // A call on another app server, collected later.
        measured(&mut expiries, 2, &[8]);
        expiries.count(call(2, 8), Part::WarmUp);
        let hits = expiries.hits_per_expiry();
        assert_eq!((hits.expiries, hits.max), (1, 1), "version 6 of key 1 alone");
    }

    #[test]
    fn a_stampede_that_is_cut_by_the_end_is_left_out() {
        let mut expiries = Expiries::default();
        measured(&mut expiries, 1, &[1, 1]);
        expiries.count(call(1, 2), Part::Measured);
        let hits = expiries.hits_per_expiry();
        assert_eq!((hits.expiries, hits.max), (1, 2));
    }
}
