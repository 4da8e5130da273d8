use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use hdrhistogram::Histogram;
use strum::VariantArray;

use crate::metrics::{
    Batch, ByOutcome, Count, Counts, DamagedList, Expiries, Figures, HistogramText, NodeLoad, Part, Point, Quantiles,
    Recorder, Series, ServerLoad, Spread, Sums, Tally, Time, Timeline, Trace, When, histogram,
};
use crate::model::{NoVote, Outcomes};
use crate::oracle::{Books, News};

/// Adds up what the recorders of one arm counted: totals, one point for each second, and one for each tenth of a second.
/// Every count goes to its own time, no matter when it is collected.
#[derive(Debug)]
pub(super) struct Collector {
    timeline: Arc<Timeline>,
    recorders: Vec<Arc<Recorder>>,
    /// A cleared tally, which is exchanged for a full one and cleared again.
    spare: Tally,
    /// The measured part.
    total: Sums,
    /// The part of `total` that was counted after the load had ended.
    after_end: Sums,
    servers: Vec<ServerSums>,
    /// The newest seconds and tenths, to which more may still be added.
    seconds: BTreeMap<i64, Slice>,
    tenths: BTreeMap<i64, Slice>,
    expiries: Expiries,
    damaged_lists: HashMap<(u32, u64, u64), DamagedList>,
    series: Arc<Series>,
    trace: Arc<Trace>,
    books: Books,
    /// Sales that were sent after the load had ended.
    sales_after_end: Point,
    newest_votes: Option<(usize, usize)>,
    lacking: Vec<NoVote>,
    /// The last `lacking` that was not empty.
    last_lacking: Vec<NoVote>,
    first_error: Option<String>,
    newest_end: Option<Instant>,
    /// Whether a dealer deals the requests: then a request is offered when it is due, not when it begins.
    dealt: bool,
    /// The newest second that was reported as ended.
    reported: Option<i64>,
    /// Measured seconds in which nobody got a lock because nodes were missing.
    refused_seconds: u64,
}

/// What one app server did in the measured part.
#[derive(Debug)]
struct ServerSums {
    counts: Counts,
    orders: u64,
    response: Histogram<u64>,
}

/// A second, or a tenth of one.
#[derive(Debug)]
struct Slice {
    point: Point,
    acquire: Spread,
    response: Spread,
}

/// What the run knows about an arm besides its recorders.
#[derive(Debug, Default)]
pub(super) struct ArmState {
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
    /// Its lock nodes, with the number of commands sent to each.
    pub nodes: Vec<NodeLoad>,
}

/// What the run knows about an app server's part in an arm.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Intakes {
    /// Measured requests that were dealt to it; `None` in a closed loop.
    pub dealt: Option<u64>,
    /// Whether it was killed.
    pub killed: bool,
}

/// How the arm's lock fared in a second that has just ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SecondEnded {
    pub outcomes: Outcomes,
    /// The nodes that were missing when this was last reported; it stays when locks are granted again.
    pub lacking: Vec<NoVote>,
}

impl Slice {
    fn new() -> Self {
        Self {
            point: Point::default(),
            acquire: Spread::default(),
            response: Spread::default(),
        }
    }

    fn add(&mut self, sums: &Sums) {
        count(&mut self.point, sums);
        for time in Time::ACQUIRES {
            self.acquire.add(sums.spread(time));
        }
        self.response.add(sums.spread(Time::Response));
    }
}

/// Adds the sums to a point, except for sales, which come from the ledger.
fn count(point: &mut Point, sums: &Sums) {
    point.outcomes.add(&sums.outcomes);
    point.counts.add(&sums.counts);
    point.answered += sums.counts.answered();
}

impl Collector {
    pub fn new(recorders: Vec<Arc<Recorder>>, timeline: Arc<Timeline>) -> Self {
        let server = |_: &Arc<Recorder>| ServerSums {
            counts: Counts::default(),
            orders: 0,
            response: histogram(),
        };
        Self {
            timeline,
            servers: recorders.iter().map(server).collect(),
            recorders,
            spare: Tally::default(),
            total: Sums::default(),
            after_end: Sums::default(),
            seconds: BTreeMap::new(),
            tenths: BTreeMap::new(),
            expiries: Expiries::default(),
            damaged_lists: HashMap::new(),
            series: Arc::default(),
            trace: Arc::default(),
            books: Books::default(),
            sales_after_end: Point::default(),
            newest_votes: None,
            lacking: Vec::new(),
            last_lacking: Vec::new(),
            first_error: None,
            newest_end: None,
            dealt: false,
            reported: None,
            refused_seconds: 0,
        }
    }

    /// Takes in what was counted since the last call. Returns how the newest whole second went, once for each second.
    pub fn collect(&mut self) -> Option<SecondEnded> {
        // Read before the recorders are: what they count from now on may belong to a later second.
        let now = self.timeline.when(Instant::now());
        let mut touched = BTreeSet::new();
        for server in 0..self.recorders.len() {
            let full = self.recorders[server].swap(std::mem::take(&mut self.spare));
            for batch in &full.batches {
                touched.extend(self.take(server, batch));
            }
            self.take_newest(&full);
            self.spare = full;
            self.spare.clear();
        }
        self.draw(touched, now);
        self.second_ended(now)
    }

    /// Takes in one batch of app server `server`. Returns its tenth of a second if it belongs in the series.
    fn take(&mut self, server: usize, batch: &Batch) -> Option<i64> {
        let measured = batch.part == Part::Measured;
        for call in &batch.provider_calls {
            self.expiries.count(*call, batch.part);
        }
        if batch.when != When::AfterEnd {
            for call in &batch.refills {
                self.expiries.refilled(*call, batch.part);
            }
        }
        if measured {
            self.total.add(&batch.sums);
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
        // What the warm-up's requests do after second 0 belongs to neither part.
        let When::Tenth(tenth) = batch.when else { return None };
        if measured != (tenth >= 0) {
            return None;
        }
        let second = tenth.div_euclid(10);
        for (slices, place) in [(&mut self.seconds, second), (&mut self.tenths, tenth)] {
            slices.entry(place).or_insert_with(Slice::new).add(&batch.sums);
        }
        Some(tenth)
    }

    fn take_newest(&mut self, tally: &Tally) {
        let newest = &tally.newest;
        self.newest_votes = newest.votes.or(self.newest_votes);
        let acquired = |batch: &Batch| batch.sums.outcomes.acquired > 0;
        if !newest.lacking.is_empty() {
            self.lacking.clone_from(&newest.lacking);
            self.last_lacking.clone_from(&newest.lacking);
        } else if tally.batches.iter().any(acquired) {
            self.lacking.clear();
        }
        if self.first_error.is_none() {
            self.first_error.clone_from(&newest.first_error);
        }
        self.newest_end = self.newest_end.max(newest.end);
    }

    /// Puts the tenths that changed into the series, and forgets those that have ended.
    fn draw(&mut self, touched: BTreeSet<i64>, now: When) {
        // Snapshots that are being drawn keep the series that they have.
        let (series, trace) = (Arc::make_mut(&mut self.series), Arc::make_mut(&mut self.trace));
        let seconds: BTreeSet<i64> = touched.iter().map(|tenth| tenth.div_euclid(10)).collect();
        for second in seconds {
            if let (Some(point), Some(slice)) = (series.at(second), self.seconds.get(&second)) {
                let [acquire, response] = [&slice.acquire, &slice.response].map(Spread::quantiles);
                // The load says what was due, and the ledger what was sold. Without a dealer, every request that begins
                // was offered.
                *point = Point {
                    second,
                    offered: if self.dealt {
                        point.offered
                    } else {
                        slice.point.counts[Count::Begun]
                    },
                    acquire_p50_us: acquire.p50,
                    acquire_p99_us: acquire.p99,
                    response_p50_us: response.p50,
                    response_p99_us: response.p99,
                    orders: point.orders,
                    oversold: point.oversold,
                    lost_updates: point.lost_updates,
                    ..slice.point
                };
            }
        }
        for tenth in touched {
            if let (Some(beat), Some(slice)) = (trace.at(tenth), self.tenths.get(&tenth)) {
                let [acquire, response] = [&slice.acquire, &slice.response].map(Spread::quantiles);
                (beat.acquire_p50_us, beat.acquire_p99_us) = (acquire.p50, acquire.p99);
                (beat.response_p50_us, beat.response_p99_us) = (response.p50, response.p99);
                beat.no_quorum = slice.point.outcomes.no_quorum;
                beat.db_hits = slice.point.counts[Count::DbHits];
                beat.stale_reads = slice.point.counts[Count::StaleReads];
            }
        }
        if let When::Tenth(tenth) = now {
            // A second without any request gets a point too.
            series.at(tenth.div_euclid(10));
            // Every recorder was read after that tenth began, so nothing older can come.
            self.seconds = self.seconds.split_off(&tenth.div_euclid(10));
            self.tenths = self.tenths.split_off(&tenth);
        }
    }

    fn second_ended(&mut self, now: When) -> Option<SecondEnded> {
        let newest = self.series.newest()?.second;
        // After the end of the load its last second is over too.
        let over = now.second().map_or(newest, |second| second - 1);
        let from = self.reported.map_or(i64::MIN, |reported| reported + 1);
        let ended = self.series.iter().filter(|point| (from..=over).contains(&point.second));
        let ended: Vec<Point> = ended.copied().collect();
        self.reported = self.reported.max(Some(over));
        let refused = |point: &&Point| point.second >= 0 && point.is_refused();
        self.refused_seconds += ended.iter().filter(refused).count() as u64;
        ended.last().map(|point| SecondEnded {
            outcomes: point.outcomes,
            lacking: self.last_lacking.clone(),
        })
    }

    /// Takes in how many requests were due in each second.
    pub fn offered(&mut self, seconds: &BTreeMap<i64, u64>) {
        self.dealt = true;
        let series = Arc::make_mut(&mut self.series);
        for (second, requests) in seconds {
            if let Some(point) = series.at(*second) {
                point.offered += requests;
            }
        }
    }

    /// Takes in the newest books, and what was added to them.
    pub fn audit(&mut self, books: Books, news: &News) {
        self.books = books;
        if news.tenths.is_empty() {
            return;
        }
        let (series, trace) = (Arc::make_mut(&mut self.series), Arc::make_mut(&mut self.trace));
        for (when, sales) in &news.tenths {
            let point = match when {
                When::Tenth(tenth) => series.at(tenth.div_euclid(10)),
                When::AfterEnd => Some(&mut self.sales_after_end),
            };
            if let Some(point) = point {
                point.orders += sales.orders;
                point.oversold += sales.oversold;
                point.lost_updates += sales.lost_updates;
            }
            if let When::Tenth(tenth) = when
                && sales.oversold + sales.lost_updates > 0
                && let Some(beat) = trace.at(*tenth)
            {
                beat.oversold += sales.oversold;
                beat.lost_updates += sales.lost_updates;
            }
        }
        for (server, orders) in &news.servers {
            if let Some(sums) = self.servers.get_mut(server.wrapping_sub(1)) {
                sums.orders += orders;
            }
        }
    }

    /// The figures of the measured part so far.
    pub fn figures(&self, state: ArmState) -> Figures {
        let (total, books) = (&self.total, &self.books);
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
        let origin = self.timeline.origin();
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
        let of = |time| Quantiles::of_any(total.time(time).as_deref());
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
            refused_seconds: self.refused_seconds,
            acquire_us: Quantiles::of(&total.acquires()),
            acquire_us_by: ByOutcome {
                acquired: of(Time::Acquired),
                contended: of(Time::Contended),
                no_quorum: of(Time::NoQuorum),
                expired: of(Time::Expired),
                unknown: of(Time::Unknown),
            },
            response_us: of(Time::Response),
            service_us: of(Time::Service),
            lag_us: of(Time::Lag),
            hold_us: of(Time::Hold),
            overshoot_us: of(Time::Overshoot),
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
            sold_out_all: books.sold_out,
            first_lost_at: books.first_lost_us.map(|us| us as f64 / 1e6),
            db_hits_per_expiry: self.expiries.hits_per_expiry(),
            duplicate_pages: self.damaged_lists.values().map(|list| list.duplicate).sum(),
            missing_pages: self.damaged_lists.values().map(|list| list.missing).sum(),
            holding: state.held.0,
            partial: state.held.1,
            nodes,
            servers,
        }
    }

    /// All times of the measured part as histograms; a time without any value is left out.
    pub fn histograms(&self) -> BTreeMap<Time, HistogramText> {
        let histogram = |time| Some((time, HistogramText::of(self.total.time(time)?.as_ref())));
        Time::VARIANTS.iter().copied().filter_map(histogram).collect()
    }

    pub fn series(&self) -> Arc<Series> {
        self.series.clone()
    }

    pub fn trace(&self) -> Arc<Trace> {
        self.trace.clone()
    }

    /// What was counted after the load had ended, while the workers finished.
    pub fn after_end(&self) -> Point {
        let mut point = self.sales_after_end;
        count(&mut point, &self.after_end);
        if !self.dealt {
            point.offered = point.counts[Count::Begun];
        }
        let [acquire, response] = [
            Quantiles::of(&self.after_end.acquires()),
            Quantiles::of_any(self.after_end.time(Time::Response).as_deref()),
        ];
        (point.acquire_p50_us, point.acquire_p99_us) = (acquire.p50, acquire.p99);
        (point.response_p50_us, point.response_p99_us) = (response.p50, response.p99);
        point
    }

    pub const fn newest_votes(&self) -> Option<(usize, usize)> {
        self.newest_votes
    }

    pub fn lacking(&self) -> &[NoVote] {
        &self.lacking
    }

    /// Measured requests that have ended so far, with or without an answer.
    pub fn completed(&self) -> u64 {
        self.total.counts[Count::Completed]
    }

    /// Measured requests that got an answer so far.
    pub fn answered(&self) -> u64 {
        self.total.counts.answered()
    }

    /// The error of the first request that failed in the database or the cache.
    pub const fn first_error(&self) -> Option<&String> {
        self.first_error.as_ref()
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

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use std::time::Duration;

    use super::*;
    use crate::metrics::ProviderCall;
    use crate::model::{Cause, CauseKind, Outcome};
    use crate::oracle::Sales;

    const MS: Duration = Duration::from_millis(1);
    const HOUR: Duration = Duration::from_hours(1);

    /// Two recorders and their collector, in a run whose second 0 was an hour ago: everything is counted in that second,
    /// or on a very slow machine in the next.
    fn two() -> (Vec<Arc<Recorder>>, Collector) {
        let origin = Instant::now().checked_sub(HOUR).expect("the machine runs for an hour");
        timed(Timeline::from(origin))
    }

    fn timed(timeline: Timeline) -> (Vec<Arc<Recorder>>, Collector) {
        let timeline = Arc::new(timeline);
        let recorder = || Arc::new(Recorder::new(Arc::clone(&timeline)));
        let recorders = vec![recorder(), recorder()];
        (recorders.clone(), Collector::new(recorders, timeline))
    }

    fn figures(collector: &mut Collector, servers: Vec<Intakes>) -> Figures {
        collector.collect();
        collector.figures(ArmState {
            elapsed: 2.0,
            servers,
            ..ArmState::default()
        })
    }

    fn begin_and_end(recorder: &Arc<Recorder>, part: Part) {
        let counter = recorder.of(part);
        counter.started(Duration::ZERO, false);
        counter.completed(Instant::now(), Instant::now());
    }

    #[test]
    fn app_servers_add_up() {
        let (recorders, mut collector) = two();
        for recorder in &recorders {
            let counter = recorder.of(Part::Measured);
            counter.acquired(MS);
            counter.voted(2, 3);
            counter.voted_in_the_end(3, 3);
            begin_and_end(recorder, Part::Measured);
        }
        let causes = [Some(Cause::Refused), None, Some(Cause::Error("OOM".to_owned()))];
        recorders[1]
            .of(Part::Measured)
            .refused(MS * 2, Outcome::NoQuorum, &causes);
        let figures = figures(&mut collector, Vec::new());
        assert_eq!((figures.outcomes.acquired, figures.outcomes.no_quorum), (2, 1));
        assert_eq!(
            (figures.counts[Count::Completed], figures.offered, figures.answered),
            (2, 2, 2)
        );
        assert_eq!((figures.votes_at_release[2], figures.votes_in_the_end[3]), (2, 2));
        assert_eq!(figures.acquire_us.count, 3);
        assert_eq!(
            (
                figures.acquire_us_by.acquired.count,
                figures.acquire_us_by.no_quorum.count
            ),
            (2, 1)
        );
        assert!((figures.throughput - 1.0).abs() < 1e-9);
        let lacking: Vec<_> = collector.lacking().iter().map(|one| one.node).collect();
        assert_eq!(lacking, [1, 3]);
        let points: u64 = collector
            .series()
            .iter()
            .map(|point| point.counts[Count::Completed])
            .sum();
        assert_eq!(points, 2);
    }

    #[test]
    fn a_second_that_has_ended_keeps_its_cause_when_locks_are_granted_again() {
        let (recorders, mut collector) = two();
        let counter = recorders[0].of(Part::Measured);
        counter.refused(MS, Outcome::NoQuorum, &[Some(Cause::Refused)]);
        collector.collect();
        let second = collector.series().newest().expect("something happened").second;
        // In the second after that one, locks are granted again before the collector runs.
        counter.acquired(MS);
        collector.take_newest(&recorders[0].swap(Tally::default()));
        let ended = collector.second_ended(When::Tenth((second + 1) * 10));
        let ended = ended.expect("a second has ended");
        assert_eq!((ended.outcomes.acquired, ended.outcomes.no_quorum), (0, 1));
        assert_eq!(collector.lacking(), [], "all is well now");
        let down = NoVote {
            node: 1,
            cause: Cause::Refused,
        };
        assert_eq!(ended.lacking, [down]);
    }

    #[test]
    fn causes_are_counted_for_their_node() {
        let (recorders, mut collector) = two();
        let counter = recorders[0].of(Part::Measured);
        counter.refused(MS, Outcome::NoQuorum, &[None, Some(Cause::Timeout)]);
        counter.refused(MS, Outcome::NoQuorum, &[None, Some(Cause::Timeout)]);
        collector.collect();
        let node = |host| NodeLoad {
            host,
            ..NodeLoad::default()
        };
        let figures = collector.figures(ArmState {
            nodes: vec![node(1), node(2)],
            ..ArmState::default()
        });
        assert!(figures.nodes[0].causes.is_empty());
        assert_eq!(figures.nodes[1].causes[&CauseKind::Timeout], 2);
    }

    #[test]
    fn requests_that_begin_in_the_warm_up_never_count() {
        let (recorders, mut collector) = two();
        let counter = recorders[0].of(Part::WarmUp);
        counter.acquired(MS);
        counter.voted(3, 3);
        counter.count(Count::Hits);
        counter.time(Time::Hold, MS);
        counter.damaged_list(DamagedList {
            cache: 0,
            key: 1,
            version: 1,
            duplicate: 3,
            missing: 1,
        });
        begin_and_end(&recorders[0], Part::WarmUp);
        let zero = Figures {
            votes_at_release: vec![0; 10],
            votes_in_the_end: vec![0; 10],
            servers: vec![
                ServerLoad {
                    server: 1,
                    ..ServerLoad::default()
                },
                ServerLoad {
                    server: 2,
                    ..ServerLoad::default()
                },
            ],
            ..Figures::default()
        };
        assert_eq!(figures(&mut collector, Vec::new()), zero);
        let points: u64 = collector
            .series()
            .iter()
            .map(|point| point.counts[Count::Completed])
            .sum();
        assert_eq!(points, 0, "nor in the series");
    }

    #[test]
    fn requests_that_end_after_the_load_are_kept_apart_and_not_in_the_throughput() {
        let origin = Instant::now().checked_sub(HOUR).expect("the machine runs for an hour");
        let timeline = Timeline::from(origin);
        timeline.end(origin + Duration::from_secs(2));
        let (recorders, mut collector) = timed(timeline);
        begin_and_end(&recorders[0], Part::Measured);
        let figures = figures(&mut collector, Vec::new());
        assert_eq!((figures.counts[Count::Completed], figures.answered), (1, 1));
        assert!(figures.throughput.abs() < 1e-9, "{}", figures.throughput);
        assert_eq!(collector.after_end().counts[Count::Completed], 1);
        assert_eq!(collector.series().iter().count(), 0, "no second of the measured part");
    }

    #[test]
    fn offered_is_the_sum_of_its_parts() {
        let (recorders, mut collector) = two();
        for recorder in &recorders {
            begin_and_end(recorder, Part::Measured);
            begin_and_end(recorder, Part::Measured);
            recorder.of(Part::Measured).started(MS, true);
        }
        // Ten were dealt to each, and the second one is dead.
        let intakes = |killed| Intakes {
            dealt: Some(10),
            killed,
        };
        collector.collect();
        let figures = collector.figures(ArmState {
            servers: vec![intakes(false), intakes(true)],
            dropped: 5,
            ..ArmState::default()
        });
        let [up, killed] = [&figures.servers[0], &figures.servers[1]];
        assert_eq!((up.completed, up.unfinished, up.never_begun, up.dropped), (2, 1, 7, 0));
        assert_eq!(
            (killed.completed, killed.unfinished, killed.never_begun, killed.dropped),
            (2, 0, 0, 8)
        );
        let parts = [
            figures.counts[Count::Completed],
            figures.dropped,
            figures.unfinished,
            figures.never_begun,
        ];
        assert_eq!((figures.offered, parts), (25, [4, 13, 1, 7]));
        assert_eq!((figures.counts[Count::Late], up.late), (2, 1));
    }

    #[test]
    fn an_arm_that_is_done_is_measured_until_its_last_answer() {
        let (recorders, mut collector) = two();
        begin_and_end(&recorders[0], Part::Measured);
        recorders[0].of(Part::Measured).count(Count::GaveUp);
        collector.collect();
        let done = collector.figures(ArmState {
            elapsed: 7200.0,
            done: true,
            ..ArmState::default()
        });
        let finish = done.finish.expect("it is done");
        assert!((3600.0..7200.0).contains(&finish), "{finish}");
        assert_eq!(
            (done.counts[Count::Completed], done.answered),
            (1, 0),
            "giving up is not an answer"
        );
        assert_eq!(collector.figures(ArmState::default()).finish, None);
    }

    #[test]
    fn sales_are_counted_in_the_second_of_their_own_time() {
        let (_, mut collector) = two();
        let mut news = News::default();
        let sales = |orders, oversold, lost_updates| Sales {
            orders,
            oversold,
            lost_updates,
        };
        news.tenths.insert(When::Tenth(13), sales(5, 0, 2));
        news.tenths.insert(When::Tenth(19), sales(1, 1, 0));
        news.tenths.insert(When::AfterEnd, sales(4, 0, 0));
        news.servers.insert(2, 10);
        let books = Books {
            orders: 10,
            oversold: 1,
            lost_updates: 1,
            lost_updates_peak: 2,
            first_lost_us: Some(1_320_000),
            ..Books::default()
        };
        collector.audit(books, &news);
        let figures = collector.figures(ArmState::default());
        assert_eq!(
            (figures.orders, figures.lost_updates, figures.lost_updates_peak),
            (10, 1, 2)
        );
        assert_eq!(figures.first_lost_at, Some(1.32));
        assert_eq!([0, 1].map(|server| figures.servers[server].orders), [0, 10]);
        let series = collector.series();
        let point = series.iter().find(|point| point.second == 1).expect("second 1");
        assert_eq!((point.orders, point.oversold, point.lost_updates), (6, 1, 2));
        assert_eq!(collector.after_end().orders, 4);
        let trace = collector.trace();
        let beats: Vec<_> = trace
            .iter()
            .map(|beat| (beat.tenth, beat.lost_updates, beat.oversold))
            .collect();
        assert_eq!(beats, [(13, 2, 0), (19, 0, 1)]);
    }

    #[test]
    fn a_damaged_list_is_counted_once_however_often_it_is_read() {
        let (recorders, mut collector) = two();
        let list = |version, duplicate| DamagedList {
            cache: 0,
            key: 1,
            version,
            duplicate,
            missing: 0,
        };
        for (recorder, list) in recorders
            .iter()
            .cycle()
            .zip([list(1, 2), list(1, 3), list(1, 3), list(2, 1)])
        {
            recorder.of(Part::Measured).damaged_list(list);
        }
        assert_eq!(figures(&mut collector, Vec::new()).duplicate_pages, 4);
    }

    #[test]
    fn stampedes_are_judged_by_calls_and_refills() {
        let (recorders, mut collector) = two();
        let call = ProviderCall {
            cache: 0,
            key: 1,
            supersedes: 4,
        };
        recorders[0].of(Part::Measured).provider_call(call);
        recorders[1].of(Part::Measured).provider_call(call);
        assert_eq!(
            figures(&mut collector, Vec::new()).db_hits_per_expiry.expiries,
            0,
            "it has not ended"
        );
        recorders[0].of(Part::Measured).refilled(call);
        let figures = figures(&mut collector, Vec::new());
        assert_eq!(
            (figures.counts[Count::DbHits], figures.db_hits_per_expiry.expiries),
            (2, 1)
        );
        assert_eq!(figures.db_hits_per_expiry.max, 2);
    }

    #[test]
    fn every_plain_count_reaches_figures_points_and_no_other_count() {
        for count in Count::VARIANTS {
            let (recorders, mut collector) = two();
            recorders[1].of(Part::Measured).count(*count);
            let (figures, expected) = (figures(&mut collector, Vec::new()), Counts::from([(*count, 1)]));
            assert_eq!(figures.counts, expected);
            let mut points = Counts::default();
            collector.series().iter().for_each(|point| points.add(&point.counts));
            assert_eq!(points, expected);
        }
    }

    #[test]
    fn failures_are_counted_and_the_first_error_is_kept() {
        let (recorders, mut collector) = two();
        recorders[1].of(Part::Measured).failed(|| "disk full".to_owned());
        recorders[1].of(Part::Measured).failed(|| "another".to_owned());
        assert_eq!(figures(&mut collector, Vec::new()).counts[Count::Errors], 2);
        assert_eq!(collector.first_error().map(String::as_str), Some("disk full"));
    }
}
