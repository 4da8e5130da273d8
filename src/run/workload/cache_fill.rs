use rand::rngs::SmallRng;

use super::failed::Failed;
use super::filler::{Entry, Filler, Look};
use super::random::{Choice, weighted};
use super::section::Section;
use super::tools::Tools;
use super::{list, object};
use lockstorm_data::metrics::{Count, Counter, StalledFill};
use lockstorm_data::model::Wait;
use lockstorm_data::scenario::{CacheFillSpec, CacheSpec, ServiceTime};

/// The work of `cache-fill`: read through caches that expire. A fresh value is served; otherwise the worker takes the
/// lock, calls the provider and fills the cache.
#[derive(Debug)]
pub struct CacheFill {
    pub(super) tools: Tools,
    caches: Vec<(CacheSpec, Choice)>,
    read: ServiceTime,
}

impl CacheFill {
    pub(super) fn new(spec: &CacheFillSpec, read: ServiceTime, tools: Tools) -> Self {
        let caches = spec
            .caches
            .iter()
            .map(|spec| (spec.clone(), Choice::new(spec.popularity, spec.keys)))
            .collect();
        Self { tools, caches, read }
    }

    /// One request: a reader wants one value.
    pub(super) async fn request(&self, counter: Counter<'_>, rng: &mut SmallRng, worker: usize) -> Result<(), Failed> {
        let entry = self.draw(rng);
        let look = self.look(counter, &entry).await?;
        if look.fresh {
            counter.count(Count::Hits);
            return Ok(());
        }
        match self.tools.enter(counter, &entry.data, worker).await {
            Ok(section) => {
                let filled = self.inside(&entry, &look, &section, rng).await;
                section.leave(&filled).await;
                filled.map(drop)
            }
            Err(Failed::Refused) => self.outside(counter, &entry, look).await,
            Err(failed) => Err(failed),
        }
    }

    fn draw(&self, rng: &mut SmallRng) -> Entry<'_> {
        let position = weighted(&self.caches, |(spec, _)| spec.weight, rng);
        let (spec, choice) = &self.caches[position];
        let key = choice.draw(rng);
        let data = spec.lock_name(key);
        Entry {
            spec,
            // A scenario has only a few caches.
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

    /// With the lock: looks again, if the arm does that, and fills the cache, unless somebody else has.
    async fn inside(
        &self,
        entry: &Entry<'_>,
        seen: &Look,
        section: &Section<'_>,
        rng: &mut SmallRng,
    ) -> Result<bool, Failed> {
        let mut supersedes = seen.version;
        if self.tools.arm.second_look && self.tools.arm.lock.is_some() {
            let look = self.look(section.counter, entry).await?;
            if look.fresh {
                section.counter.count(Count::Hits);
                return Ok(false);
            }
            supersedes = look.version;
        }
        let filler = Filler {
            tools: &self.tools,
            entry,
            section,
            supersedes,
            time: self.tools.live_settings.hold(self.read),
        };
        let filled = match entry.spec.pages {
            None => object::fill(&filler, rng).await,
            Some(pages) => list::fill(&filler, pages, rng).await,
        };
        if entry.spec.pages.is_some() && section.is_stalled() {
            // Its late pages are in lists that others have filled meanwhile, and in one that is being filled now.
            let newest = self.look(section.counter, entry).await;
            let last = newest.map_or(u64::MAX, |look| look.version.saturating_add(1));
            section.counter.stalled_fill(StalledFill {
                cache: entry.cache,
                key: entry.key,
                versions: supersedes.saturating_add(1)..=last,
            });
        }
        match &filled {
            Ok(()) => filler.refilled(),
            Err(_) => filler.give_up().await,
        }
        filled.map(|()| true)
    }

    /// Without the lock: serves the value if it is fresh by now, or an old one if the arm allows that.
    async fn outside(&self, counter: Counter<'_>, entry: &Entry<'_>, mut look: Look) -> Result<(), Failed> {
        if self.tools.arm.wait != Wait::FailFast {
            look = self.look(counter, entry).await?;
        }
        if look.fresh {
            counter.count(Count::Hits);
        } else if look.servable && self.tools.arm.serve_stale {
            counter.count(Count::StaleReads);
        } else {
            return Err(Failed::Refused);
        }
        Ok(())
    }
}
