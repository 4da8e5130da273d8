//! Fills a value of a cache; common to both kinds of values.

use std::time::Duration;

use rand::rngs::SmallRng;
use redis::Pipeline;

use super::cache::millis;
use super::failed::Failed;
use super::random::draw;
use super::section::Section;
use super::tools::Tools;
use lockstorm_data::metrics::ProviderCall;
use lockstorm_data::scenario::{CacheSpec, ServiceTime};

/// The state of a value that may be served.
pub(super) const ACTIVE: &str = "Active";
/// The state of a value that somebody is filling.
pub(super) const IN_PROGRESS: &str = "Inprogress";

/// One value of one cache, and the names of its keys.
pub(super) struct Entry<'a> {
    pub spec: &'a CacheSpec,
    /// The position of its cache in the scenario.
    pub cache: u32,
    pub key: u64,
    /// The key of the value: a string or a list.
    pub data: String,
    /// The key of its state. It is apart from the value because it expires earlier.
    pub state: String,
    /// The key of its version: how often it was filled.
    pub version: String,
}

/// Adds that this key has this value for so long.
pub(super) fn set(write: &mut Pipeline, key: &str, value: &str, lasts: Duration) {
    write.cmd("SET").arg(&[key, value, "PX"]).arg(millis(lasts));
}

/// What a look at the cache found.
pub(super) struct Look {
    /// The value exists and is Active.
    pub fresh: bool,
    /// The value exists, and may be served even if it is not fresh.
    pub servable: bool,
    /// Its version; 0 if it was never filled.
    pub version: u64,
}

/// A fill under way, which calls the provider.
pub(super) struct Filler<'a, 'b> {
    pub tools: &'a Tools,
    pub entry: &'a Entry<'a>,
    pub section: &'a Section<'b>,
    /// The version that the last look found, which this fill supersedes.
    pub supersedes: u64,
    pub time: ServiceTime,
}

impl Filler<'_, '_> {
    /// Calls the provider for the object, or for one page of the list. Each page counts as a value of its own, so one call
    /// for each version of each page is perfect.
    pub async fn provide(&self, page: Option<u32>, rng: &mut SmallRng) -> Result<String, Failed> {
        if self.tools.hurry.all.is_cancelled() {
            return Err(Failed::Cancelled);
        }
        let part = page.map_or(0, |page| u64::from(page.saturating_sub(1)));
        self.section.counter.provider_call(self.call(part));
        let service = draw(self.time, rng);
        Ok(self
            .tools
            .store
            .provide(&self.entry.spec.name, self.entry.key, page, service)
            .await?)
    }

    /// Counts that the value is now in the cache.
    pub fn refilled(&self) {
        for part in 0..self.pages() {
            self.section.counter.refilled(self.call(part));
        }
    }

    fn pages(&self) -> u64 {
        self.entry.spec.pages.map_or(1, u64::from)
    }

    fn call(&self, part: u64) -> ProviderCall {
        ProviderCall {
            cache: self.entry.cache,
            key: self.entry.key * self.pages() + part,
            supersedes: self.supersedes,
        }
    }

    /// How long the state says that a fill is under way: as long as the lock lives without renewal, because a filler that
    /// dies can't take it back.
    pub fn in_progress(&self) -> Duration {
        self.tools.live_settings.ttl(self.tools.arm.ttl)
    }

    /// Clears the state, unless it may be somebody else's.
    pub async fn give_up(&self) {
        if self.section.is_ours() {
            let mut cache = self.tools.cache.connection();
            // If this fails too, the state expires.
            let _ = redis::cmd("DEL").arg(&self.entry.state).exec_async(&mut cache).await;
        }
    }
}
