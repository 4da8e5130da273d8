use rand::rngs::SmallRng;

use super::chance::{Choice, draw, weighted};
use super::section::Section;
use super::{Failed, Tools, list, object};
use crate::metrics::{Count, Counter, ProviderCall};
use crate::model::Wait;
use crate::scenario::{CacheSpec, LockKind, ServiceTime};
use crate::store::Value;

/// The state of a value that may be served.
pub(super) const ACTIVE: &str = "Active";
/// The state of a value that somebody fills.
pub(super) const IN_PROGRESS: &str = "Inprogress";

/// The work of reading through caches that expire: serve what is fresh; else take the lock, call the provider, fill.
#[derive(Debug)]
pub struct CacheFill {
    tools: Tools,
    caches: Vec<(CacheSpec, Choice)>,
    read: ServiceTime,
}

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

impl CacheFill {
    pub(super) fn new(caches: &[CacheSpec], read: ServiceTime, tools: Tools) -> Self {
        let caches = caches
            .iter()
            .map(|spec| (spec.clone(), Choice::new(spec.popularity, spec.keys)))
            .collect();
        Self { tools, caches, read }
    }

    pub(super) const fn tools(&self) -> &Tools {
        &self.tools
    }

    /// One reader wants one value.
    pub(super) async fn request(&self, counter: Counter<'_>, rng: &mut SmallRng) -> Result<(), Failed> {
        let entry = self.draw(rng);
        let look = self.look(counter, &entry).await?;
        if look.fresh {
            counter.count(Count::Hit);
            return Ok(());
        }
        match self.tools.enter(counter, &entry.data).await {
            Ok(section) => {
                let done = self.inside(counter, &entry, &look, &section, rng).await;
                section.leave().await;
                done
            }
            Err(Failed::Refused) => self.outside(counter, &entry, look).await,
            Err(failed) => Err(failed),
        }
    }

    fn draw(&self, rng: &mut SmallRng) -> Entry<'_> {
        let position = weighted(&self.caches, |(spec, _)| spec.weight, rng);
        let (spec, choice) = &self.caches[position];
        let key = choice.draw(rng);
        let data = format!("{}:{key}", spec.name);
        Entry {
            spec,
            // A scenario has a handful of caches.
            cache: u32::try_from(position).unwrap_or(u32::MAX),
            key,
            state: format!("{data}:CacheState"),
            version: format!("{data}:Version"),
            data,
        }
    }

    async fn look(&self, counter: Counter<'_>, entry: &Entry<'_>) -> Result<Look, Failed> {
        match entry.spec.pages {
            None => object::look(&self.tools.cache, entry).await,
            Some(pages) => list::look(&self.tools, counter, entry, pages).await,
        }
    }

    /// With the lock: look again, if the arm does, and fill.
    async fn inside(
        &self,
        counter: Counter<'_>,
        entry: &Entry<'_>,
        seen: &Look,
        section: &Section<'_>,
        rng: &mut SmallRng,
    ) -> Result<(), Failed> {
        let mut supersedes = seen.version;
        if self.tools.arm.second_look && self.tools.arm.lock != LockKind::None {
            let look = self.look(counter, entry).await?;
            if look.fresh {
                counter.count(Count::Hit);
                return Ok(());
            }
            supersedes = look.version;
        }
        let filler = Filler {
            tools: &self.tools,
            counter,
            entry,
            section,
            supersedes,
            time: self.tools.dials.hold(self.read),
        };
        let filled = match entry.spec.pages {
            None => object::fill(&filler, rng).await,
            Some(pages) => list::fill(&filler, pages, rng).await,
        };
        match &filled {
            Ok(()) => filler.refilled(),
            Err(_) => filler.give_up().await,
        }
        filled
    }

    /// Without the lock: what there is, if the arm serves it.
    async fn outside(&self, counter: Counter<'_>, entry: &Entry<'_>, mut look: Look) -> Result<(), Failed> {
        if self.tools.arm.wait != Wait::FailFast {
            look = self.look(counter, entry).await?;
        }
        if look.fresh {
            counter.count(Count::Hit);
        } else if look.servable && self.tools.arm.serve_stale {
            counter.count(Count::StaleRead);
        } else {
            return Err(Failed::Refused);
        }
        Ok(())
    }
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
    fn refilled(&self) {
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
        super::cache::millis(self.tools.dials.ttl(self.tools.arm.ttl))
    }

    /// Takes back the announcement, unless it may be somebody else's.
    async fn give_up(&self) {
        if self.section.is_ours() {
            let mut cache = self.tools.cache.connection();
            // If even this fails, the announcement expires.
            let _ = redis::cmd("DEL").arg(&self.entry.state).exec_async(&mut cache).await;
        }
    }
}
