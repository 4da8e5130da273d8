use std::collections::{HashMap, VecDeque};

use super::{HitsPerExpiry, ProviderCall};

/// How many versions of a key stay open for late calls. A call for an older one than that would be a second expiry late.
const OPEN_VERSIONS: usize = 4;

/// Counts provider calls per superseded value version. Windows of time miscount: a stampede that queues at the database
/// outlasts any window.
#[derive(Debug, Default)]
pub struct Expiries {
    open: HashMap<(u32, u64), VecDeque<(u64, u64)>>,
    expiries: u64,
    calls: u64,
    max: u64,
}

impl Expiries {
    /// Counts one call. Cold starts (nothing to supersede) are no expiry and are left out.
    pub fn count(&mut self, call: ProviderCall) {
        if call.supersedes == 0 {
            return;
        }
        let versions = self.open.entry((call.cache, call.key)).or_default();
        if let Some((_, calls)) = versions.iter_mut().find(|(version, _)| *version == call.supersedes) {
            *calls += 1;
            self.max = self.max.max(*calls);
        } else {
            self.expiries += 1;
            self.max = self.max.max(1);
            versions.push_back((call.supersedes, 1));
            if versions.len() > OPEN_VERSIONS {
                versions.pop_front();
            }
        }
        self.calls += 1;
    }

    /// The result so far.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // counts beyond 2^53 do not occur in a run
    pub fn hits_per_expiry(&self) -> HitsPerExpiry {
        let mean = if self.expiries == 0 {
            0.0
        } else {
            self.calls as f64 / self.expiries as f64
        };
        HitsPerExpiry {
            expiries: self.expiries,
            mean,
            max: self.max,
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

    #[test]
    fn one_call_per_version_is_perfect() {
        let mut expiries = Expiries::default();
        for version in 1..=10 {
            expiries.count(call(1, version));
        }
        assert_eq!(
            expiries.hits_per_expiry(),
            HitsPerExpiry {
                expiries: 10,
                mean: 1.0,
                max: 1
            }
        );
    }

    #[test]
    fn calls_for_one_version_add_up_even_when_they_come_late() {
        let mut expiries = Expiries::default();
        for supersedes in [1, 1, 1, 4, 1, 4] {
            expiries.count(call(1, supersedes));
        }
        expiries.count(call(2, 1));
        let hits = expiries.hits_per_expiry();
        assert_eq!((hits.expiries, hits.max), (3, 4));
        assert!((hits.mean - 7.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_cold_start_is_no_expiry() {
        let mut expiries = Expiries::default();
        expiries.count(call(1, 0));
        assert_eq!(expiries.hits_per_expiry(), HitsPerExpiry::default());
    }
}
