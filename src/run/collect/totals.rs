//! The figures of one arm: what its recorders counted in the measured part, and what the books say.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use strum::VariantArray;

use crate::oracle::{Books, News};
use lockstorm_data::metrics::{
    Batch, Count, Counts, DamagedList, Expiries, Figures, HistogramText, NodeLoad, Part, Quantiles, ServerLoad, Sums,
    Time, Times, When, histogram,
};

/// What the run knows about an arm besides its recorders.
#[derive(Debug, Default)]
pub(crate) struct ArmState {
    /// Seconds of the measured part.
    pub elapsed: f64,
    /// Whether the arm has done all of a fixed number of requests.
    pub done: bool,
    /// Whether something of the arm could not be read or finished.
    pub incomplete: bool,
    /// Locks held now, and how many of them have fewer votes than there are nodes.
    pub held: (u64, u64),
    /// One for each app server.
    pub servers: Vec<Intakes>,
    /// Requests that were due when no app server was alive.
    pub dropped: u64,
    /// Attempts at its lock.
    pub attempts: u64,
    /// Locks that new masters did not have.
    pub lost_at_failover: u64,
    /// How often a replica became the master of its locks.
    pub new_masters: u64,
    /// Keys that could not be had at the end, if that was tried.
    pub stuck: Option<u64>,
    /// Its lock nodes, with the number of commands sent to each.
    pub nodes: Vec<NodeLoad>,
}

/// What the run knows about an app server's part in an arm.
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
#[derive(Debug)]
pub(crate) struct Totals {
    measured: Sums,
    /// The part of `measured` that was counted after the load had ended.
    after_end: Sums,
    servers: Vec<ServerSums>,
    expiries: Expiries,
    damaged_lists: HashMap<(u32, u64, u64), DamagedList>,
    books: Books,
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
            measured: Sums::default(),
            after_end: Sums::default(),
            servers: (0..servers).map(server).collect(),
            expiries: Expiries::default(),
            damaged_lists: HashMap::new(),
            books: Books::default(),
            newest_end: None,
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

    /// Adds takeovers of locks whose holder had died in the measured part.
    pub fn taken_over(&mut self, took: &[Duration]) {
        for took in took {
            self.measured.record(Time::Takeover, *took);
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

    /// The figures so far. `origin` is second 0, once it has come; `refused_seconds` comes from the series.
    pub fn figures(&self, state: ArmState, origin: Option<Instant>, refused_seconds: u64) -> Figures {
        let (total, books) = (&self.measured, &self.books);
        let servers: Vec<ServerLoad> = self
            .servers
            .iter()
            .enumerate()
            .map(|(index, sums)| {
                let intakes = state.servers.get(index).copied().unwrap_or_default();
                sums.load(index + 1, intakes)
            })
            .collect();
        let sum = |part: fn(&ServerLoad) -> u64| servers.iter().map(part).sum::<u64>();
        let finish = origin
            .zip(self.newest_end)
            .filter(|_| state.done)
            .map(|(origin, end)| end.saturating_duration_since(origin).as_secs_f64());
        // Requests that were answered after the load ended don't belong to the seconds that the throughput is divided by.
        let (answers, seconds) = match finish {
            Some(finish) => (total.counts.answered(), finish),
            None => (
                total.counts.answered() - self.after_end.counts.answered(),
                state.elapsed,
            ),
        };
        let mut times = Times::default();
        for time in Time::VARIANTS {
            times[*time] = Quantiles::of_any(total.time(*time).as_deref());
        }
        let mut nodes = state.nodes;
        for (place, node) in nodes.iter_mut().enumerate() {
            node.causes = total
                .causes
                .iter()
                .filter(|((index, _), _)| *index == place)
                .map(|((_, cause), n)| (*cause, *n))
                .collect();
        }
        Figures {
            counts: total.counts,
            outcomes: total.outcomes,
            votes_at_release: total.votes_at_release.to_vec(),
            votes_in_the_end: total.votes_in_the_end.to_vec(),
            attempts: state.attempts,
            refused_seconds,
            acquire_us: Quantiles::of(&total.acquires()),
            times,
            offered: sum(|server| server.offered) + state.dropped,
            dropped: sum(|server| server.dropped) + state.dropped,
            unfinished: sum(|server| server.unfinished),
            never_begun: sum(|server| server.never_begun),
            answered: total.counts.answered(),
            finish,
            throughput: if seconds > 0.0 { answers as f64 / seconds } else { 0.0 },
            incomplete: state.incomplete,
            orders: books.orders,
            oversold: books.oversold,
            lost_updates: books.lost_updates,
            lost_updates_peak: books.lost_updates_peak,
            lost_by_stalls: books.lost_by_stalls,
            sold_out_all: books.sold_out,
            first_lost_at: books.first_lost_us.map(|us| us as f64 / 1e6),
            db_hits_per_expiry: self.expiries.hits_per_expiry(),
            duplicate_pages: self.damaged_lists.values().map(|list| list.duplicate).sum(),
            missing_pages: self.damaged_lists.values().map(|list| list.missing).sum(),
            outages: Vec::new(),
            granted_by_old_master: 0,
            new_masters: state.new_masters,
            lost_at_failover: state.lost_at_failover,
            orphaned: 0,
            stuck: state.stuck,
            holding: state.held.0,
            partial: state.held.1,
            nodes,
            servers,
        }
    }

    /// All times as histograms; a time without any value is left out.
    pub fn histograms(&self) -> BTreeMap<Time, HistogramText> {
        let histogram = |time| Some((time, HistogramText::of(self.measured.time(time)?.as_ref())));
        Time::VARIANTS.iter().copied().filter_map(histogram).collect()
    }

    /// A time of the measured part in microseconds; `None` if there is no value.
    pub fn time(&self, time: Time) -> Option<Cow<'_, Histogram<u64>>> {
        self.measured.time(time)
    }

    /// What was counted so far.
    pub const fn counts(&self) -> &Counts {
        &self.measured.counts
    }

    /// What was counted after the load had ended.
    pub const fn after_end(&self) -> &Sums {
        &self.after_end
    }

    pub const fn books(&self) -> &Books {
        &self.books
    }
}

impl ServerSums {
    fn add(&mut self, sums: &Sums) {
        self.counts.add(&sums.counts);
        sums.add_time_to(Time::Response, &mut self.response);
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
            response_us: Quantiles::of(&self.response),
        }
    }
}
