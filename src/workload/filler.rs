//! A value of a cache that is filled, whichever kind of value it is.

use rand::rngs::SmallRng;

use super::cache::millis;
use super::chance::draw;
use super::failed::Failed;
use super::section::Section;
use super::tools::Tools;
use crate::metrics::{Counter, ProviderCall};
use crate::scenario::{CacheSpec, ServiceTime};
use crate::store::Value;

/// The state of a value that may be served.
pub(super) const ACTIVE: &str = "Active";
/// The state of a value that somebody fills.
pub(super) const IN_PROGRESS: &str = "Inprogress";

/// One value of one cache, and the names of its keys.
pub(super) struct Entry<'a> {
    pub spec: &'a CacheSpec,
    /// The position of its cache in the scenario.
    pub cache: u32,
    pub key: u64,
    /// The value: a string or a list.
    pub data: String,
    /// Whether it is fresh, apart from the value because it expires earlier.
    pub state: String,
    /// How often it was filled.
    pub version: String,
}

/// What a look at the cache found.
pub(super) struct Look {
    /// It is Active and there.
    pub fresh: bool,
    /// It is there, and may be served even if it is not fresh.
    pub servable: bool,
    /// Its version; 0 before the first.
    pub version: u64,
}

/// A fill under way: what calls the provider.
pub(super) struct Filler<'a, 'b> {
    pub tools: &'a Tools,
    pub counter: Counter<'a>,
    pub entry: &'a Entry<'a>,
    pub section: &'a Section<'b>,
    /// The version that the last look found, to be superseded.
    pub supersedes: u64,
    pub time: ServiceTime,
}

impl Filler<'_, '_> {
    /// Calls the provider for the object or a page of the list. Each page is a value of its own among the provider's
    /// calls, so that one call for each version of each page is perfect.
    pub async fn provide(&self, page: Option<u32>, rng: &mut SmallRng) -> Result<Value, Failed> {
        if self.tools.hurry.is_cancelled() {
            return Err(Failed::Cancelled);
        }
        let part = page.map_or(0, |page| u64::from(page.saturating_sub(1)));
        self.counter.provider_call(self.call(part));
        let service = draw(self.time, rng);
        Ok(self
            .tools
            .store
            .provide(&self.entry.spec.name, self.entry.key, page, service)
            .await?)
    }

    /// Tells that what was asked for is in the cache.
    pub fn refilled(&self) {
        for part in 0..self.pages() {
            self.counter.refilled(self.call(part));
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

    /// How long a fill under way is announced: as long as the lock lives by itself. A filler that dies must not announce
    /// it for ever.
    pub fn in_progress_ms(&self) -> u64 {
        millis(self.tools.live_settings.ttl(self.tools.arm.ttl))
    }

    /// Takes back the announcement, unless it may be somebody else's.
    pub async fn give_up(&self) {
        if self.section.is_ours() {
            let mut cache = self.tools.cache.connection();
            // If even this fails, the announcement expires.
            let _ = redis::cmd("DEL").arg(&self.entry.state).exec_async(&mut cache).await;
        }
    }
}
