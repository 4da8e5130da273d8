//! The figures of one arm: what its recorders counted in the measured part, and what the books say.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use strum::VariantArray;

use crate::oracle::stock::{Books, News};
use lockstorm_data::metrics::{
    Batch, Count, Counts, DamagedList, Entry, Expiries, Figures, OrdersOf, Part, Quantiles, ServerLoad, StalledFill,
    Sums, Time, When, histogram,
};

/// How far an arm has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Seconds of the measured part so far.
    pub elapsed: f64,
    /// Whether the arm has done all of a fixed number of requests.
    pub is_done: bool,
    /// How many ticks of jobs were begun by some app server, or due when none was left, if the workload has some.
    pub ticks: Option<u64>,
    /// What was dealt to each app server.
    pub servers: Vec<Intakes>,
}

/// An app server's part in an arm.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Intakes {
    /// Measured requests that were dealt to it; `None` in a closed loop.
    pub dealt: Option<u64>,
    /// Whether it was killed.
    pub killed: bool,
}

/// What one app server did in the measured part.
#[derive(Debug)]
struct ServerSums {
    counts: Counts,
    orders: u64,
    response: Histogram<u64>,
}

/// What one arm did in the measured part.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub measured: Sums,
    /// The part of `measured` that was counted after the load had ended.
    pub after_end: Sums,
    servers: Vec<ServerSums>,
    expiries: Expiries,
    damaged_lists: HashMap<(u32, u64, u64), DamagedList>,
    stalled_fills: Vec<StalledFill>,
    pub books: Books,
    newest_end: Option<Instant>,
}

impl Totals {
    /// Empty totals of an arm on `servers` app servers.
    pub fn new(servers: usize) -> Self {
        let server = |_| ServerSums {
            counts: Counts::default(),
            orders: 0,
            response: histogram(),
        };
        Self {
            servers: (0..servers).map(server).collect(),
            ..Self::default()
        }
    }

    /// Adds one batch of app server `server`.
    pub fn add(&mut self, server: usize, batch: &Batch) {
        for call in &batch.provider_calls {
            self.expiries.count(*call, batch.part);
        }
        if batch.when != When::AfterEnd {
            for call in &batch.refills {
                self.expiries.refilled(*call, batch.part);
            }
        }
        self.stalled_fills.extend(batch.stalled_fills.iter().cloned());
        if batch.part != Part::Measured {
            return;
        }
        self.measured.add(&batch.sums);
        if batch.when == When::AfterEnd {
            self.after_end.add(&batch.sums);
        }
        self.servers[server].add(&batch.sums);
        for list in &batch.damaged_lists {
            let known = self
                .damaged_lists
                .entry((list.cache, list.key, list.version))
                .or_insert(*list);
            known.duplicate = known.duplicate.max(list.duplicate);
            known.missing = known.missing.max(list.missing);
        }
    }

    /// Adds times of the measured part that no recorder has counted.
    pub fn times(&mut self, time: Time, took: &[Duration]) {
        for took in took {
            self.measured.record(time, *took);
        }
    }

    /// Notes when a measured request ended.
    pub fn ended(&mut self, at: Option<Instant>) {
        self.newest_end = self.newest_end.max(at);
    }

    /// Takes in the newest books, and what was added to them.
    pub fn audit(&mut self, books: Books, news: &News) {
        self.books = books;
        for (server, orders) in &news.servers {
            if let Some(sums) = self.servers.get_mut(server.wrapping_sub(1)) {
                sums.orders += orders;
            }
        }
    }

    /// Fills in how often each time was measured, and its quantiles. These are expensive, scans of many histograms, and change
    /// slowly: if there are `earlier` figures, theirs are taken.
    pub fn fill_times(&self, figures: &mut Figures, earlier: Option<&Figures>) {
        for time in Time::VARIANTS {
            let durations = self.measured.durations(*time);
            let earlier = earlier.map(|all| all.times[*time]);
            figures.times[*time] = quantiles(durations.count(), earlier, || durations.quantiles());
        }
        let acquires = Time::ACQUIRES.iter().map(|time| figures.times[*time].count).sum();
        let all = || Quantiles::of(&self.measured.acquires());
        figures.acquire_us = quantiles(acquires, earlier.map(|all| all.acquire_us), all);
        for (index, (load, sums)) in figures.servers.iter_mut().zip(&self.servers).enumerate() {
            let earlier = earlier.and_then(|all| all.servers.get(index));
            let now = || Quantiles::of(&sums.response);
            load.response_us = quantiles(sums.response.len(), earlier.map(|load| load.response_us), now);
        }
    }

    /// Fills in what was counted and sold, but no quantiles. `figures.nodes` has the lock nodes already, and `figures.dropped` what was due when no app
    /// server was alive. `origin` is second 0, once it has come.
    pub fn fill(&self, figures: &mut Figures, origin: Option<Instant>, progress: &Progress) {
        let (total, books) = (&self.measured, &self.books);
        let answered = total.counts.answered();
        figures.counts = total.counts;
        figures.answered = answered;
        figures.outcomes = total.outcomes;
        figures.votes_at_release = total.votes_at_release.to_vec();
        figures.votes_in_the_end = total.votes_in_the_end.to_vec();
        for ((node, cause), times) in &total.causes {
            if let Some(node) = figures.nodes.get_mut(*node) {
                node.causes.insert(*cause, *times);
            }
        }
        let took = origin.zip(self.newest_end).filter(|_| progress.is_done);
        figures.finish = took.map(|(origin, end)| end.saturating_duration_since(origin).as_secs_f64());
        // Requests that were answered after the load ended don't belong to the seconds that the throughput is divided by.
        let (answers, seconds) = match figures.finish {
            Some(finish) => (answered, finish),
            None => (answered - self.after_end.counts.answered(), progress.elapsed),
        };
        figures.throughput = if seconds > 0.0 { answers as f64 / seconds } else { 0.0 };
        let share = |index| progress.servers.get(index).copied().unwrap_or_default();
        let servers = self.servers.iter().enumerate();
        figures.servers = servers
            .map(|(index, sums)| sums.load(index + 1, share(index)))
            .collect();
        figures.offered = figures.dropped;
        for server in &figures.servers {
            figures.offered += server.offered;
            figures.dropped += server.dropped;
            figures.unfinished += server.unfinished;
            figures.never_begun += server.never_begun;
        }
        for entry in books.of.into_iter().flat_map(|of| of.names().all()) {
            figures.ledger[entry] = Some(books.entries[entry]);
        }
        if let Some(ticks) = progress.ticks {
            let run = books.entries[Entry::Runs].saturating_sub(books.entries[Entry::RunAgain]);
            figures.ledger[Entry::Missed] = Some(ticks.saturating_sub(run));
        }
        figures.sold_out_all = books.of == Some(OrdersOf::Sales) && books.sold_out;
        figures.lost_by_stalls = books.lost_by_stalls;
        figures.first_lost_at = books.first_lost_us.map(|us| us as f64 / 1e6);
        figures.db_hits_per_expiry = self.expiries.hits_per_expiry();
        figures.duplicate_pages = self.damaged_lists.values().map(|list| list.duplicate).sum();
        figures.missing_pages = self.damaged_lists.values().map(|list| list.missing).sum();
        let by_stalls = self.damaged_lists.values().filter(|list| {
            let fills = || self.stalled_fills.iter();
            fills()
                .any(|fill| (fill.cache, fill.key) == (list.cache, list.key) && fill.versions.contains(&list.version))
        });
        for list in by_stalls {
            figures.duplicate_by_stalls += list.duplicate;
            figures.missing_by_stalls += list.missing;
        }
    }
}

/// The quantiles of a distribution of `count` values: those that were known `earlier`, or else those of `now`.
fn quantiles(count: u64, earlier: Option<Quantiles>, now: impl FnOnce() -> Quantiles) -> Quantiles {
    match earlier.filter(|earlier| earlier.count > 0) {
        Some(earlier) => Quantiles { count, ..earlier },
        None => now(),
    }
}

impl ServerSums {
    fn add(&mut self, sums: &Sums) {
        self.counts.add(&sums.counts);
        sums.durations(Time::Response).add_to(&mut self.response);
    }

    fn load(&self, server: usize, intakes: Intakes) -> ServerLoad {
        let [begun, completed, late] = [Count::Begun, Count::Completed, Count::Late].map(|count| self.counts[count]);
        let offered = intakes.dealt.unwrap_or(begun);
        let left = offered.saturating_sub(completed);
        let unfinished = begun.saturating_sub(completed);
        let (dropped, unfinished, never_begun) = if intakes.killed {
            (left, 0, 0)
        } else {
            (0, unfinished, left.saturating_sub(unfinished))
        };
        ServerLoad {
            server,
            offered,
            completed,
            dropped,
            unfinished,
            never_begun,
            late,
            orders: self.orders,
            response_us: Quantiles::default(),
        }
    }
}
