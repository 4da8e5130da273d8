use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::collect::availability::Availability;
use crate::collect::curves::Curves;
use crate::collect::hold_audit::NewDoubles;
use crate::collect::phases::Phases;
use crate::collect::takeovers::Takeovers;
use crate::collect::totals::{Progress, Totals};
use crate::oracle::stock::{Books, News};
use lockstorm_data::metrics::{Batch, Figures, Point, Recorder, Tally, Time, Timeline, When};
use lockstorm_data::model::{NoVote, Outcomes, Target};

/// Takes in what the recorders of one arm counted.
#[derive(Debug)]
pub(crate) struct Collector {
    timeline: Arc<Timeline>,
    recorders: Vec<Arc<Recorder>>,
    pub totals: Totals,
    pub curves: Curves,
    pub phases: Phases,
    pub availability: Availability,
    takeovers: Takeovers,
    /// The votes that the newest released lock was held with, and the number of nodes.
    pub newest_votes: Option<(usize, usize)>,
    /// The nodes that the newest refused acquire lacked.
    pub lacking: Vec<NoVote>,
    /// The last `lacking` that was not empty: it stays when locks are granted again.
    pub last_lacking: Vec<NoVote>,
    /// The error of the first request that failed in the database or the cache.
    pub first_error: Option<String>,
    /// The error of the first request that lost its database.
    pub lost_database: Option<String>,
}

impl Collector {
    pub fn new(recorders: Vec<Arc<Recorder>>, timeline: Arc<Timeline>) -> Self {
        Self {
            timeline,
            totals: Totals::new(recorders.len()),
            recorders,
            curves: Curves::default(),
            phases: Phases::default(),
            availability: Availability::default(),
            takeovers: Takeovers::default(),
            newest_votes: None,
            lacking: Vec::new(),
            last_lacking: Vec::new(),
            first_error: None,
            lost_database: None,
        }
    }

    /// When the first update was lost.
    pub fn first_loss(&self) -> Option<Instant> {
        let us = self.totals.books.first_lost_us?;
        self.timeline
            .origin()?
            .checked_add(Duration::from_micros(us.try_into().ok()?))
    }

    /// Takes in what was counted since the last call. Returns how locks fared in the newest whole second, once for each second.
    pub fn collect(&mut self) -> Option<Outcomes> {
        // Read before the recorders are: what they count from now on may belong to a later second.
        let at = Instant::now();
        let now = self.timeline.when(at);
        for server in 0..self.recorders.len() {
            let full = self.recorders[server].take();
            self.take_newest(&full);
            for batch in full.batches {
                self.totals.add(server, &batch);
                self.curves.add(&batch);
                self.phases.add(batch);
            }
            self.availability.add(&full.grants);
            self.takeovers.add(&full.watched_grants);
        }
        self.availability.drop_old_grants(self.timeline.micros(at));
        let took = self.takeovers.settle(self.timeline.micros(at));
        if !took.is_empty() {
            self.times(Time::Takeover, &took, now);
            self.watch();
        }
        self.phases.settle(now);
        self.curves.draw(now);
        self.curves.second_ended(now)
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
        if self.lost_database.is_none() {
            self.lost_database.clone_from(&newest.lost_database);
        }
        self.totals.ended(newest.end);
    }

    /// Takes in that a fault took effect on `target`, or a master became a replica: from `at` on locks may be unavailable. `fault` is
    /// the number of the fault, if it has one, and `event` tells of it.
    pub fn outage_from(&mut self, at: Instant, target: Option<Target>, fault: Option<usize>, event: Option<u64>) {
        self.availability
            .outage_from(self.timeline.micros(at), target, fault, event);
    }

    /// Notes that the faults on `target` ended.
    pub fn end_fault(&mut self, at: Instant, target: Target) {
        self.availability.end_fault(self.timeline.micros(at), target);
    }

    /// Takes in that a fault or its end took effect.
    pub fn phase_from(&mut self, at: Instant, event: u64) {
        self.phases.begin(self.timeline.when(at), event);
    }

    /// Takes in that an app server is about to be killed; [`Self::killed`] must follow.
    pub fn expect_kill(&mut self) {
        self.takeovers.expect();
        self.watch();
    }

    /// Takes in what became of a kill: since when the app server is dead, with the keys of the locks that it held; `None` if it
    /// lives, or was dead before. A death in the warm-up leaves no orphans.
    pub fn killed(&mut self, dead: Option<(Instant, Vec<String>)>) {
        let dead = dead.map(|(since, keys)| (self.timeline.micros(since), keys));
        self.takeovers.killed(dead.filter(|(since, _)| *since >= 0));
        self.watch();
    }

    fn watch(&self) {
        let watched = self.takeovers.watched();
        for recorder in &self.recorders {
            recorder.watch(watched.clone());
        }
    }

    /// Takes in that a new master accepts writes. These are its servers; the others are no masters any more.
    pub fn new_master(&mut self, since: Instant, servers: &[SocketAddr], others: &[SocketAddr]) {
        self.availability
            .new_master(self.timeline.micros(since), servers, others);
    }

    /// Whether one of these servers has granted a lock that was asked for after this time.
    pub fn was_granted_by(&self, servers: &[SocketAddr], since: Instant) -> bool {
        self.availability.granted_by(servers, self.timeline.micros(since)) > 0
    }

    /// Takes in when two holders had one lock.
    pub fn doubles(&mut self, doubles: &NewDoubles) {
        let now = self.timeline.when(Instant::now());
        self.times(Time::Overlap, &doubles.overlaps, now);
        self.curves.doubles(doubles);
    }

    /// Adds times that no recorder has counted.
    fn times(&mut self, time: Time, took: &[Duration], now: When) {
        if !took.is_empty() {
            self.totals.times(time, took);
            self.phases.times(time, took, now);
        }
    }

    /// Takes in the newest books, and what was added to them.
    pub fn audit(&mut self, books: Books, news: &News) {
        self.totals.audit(books, news);
        self.curves.audit(news);
    }

    /// Fills in the figures of the measured part so far, but no quantiles.
    pub fn fill(&self, figures: &mut Figures, progress: &Progress) {
        self.totals.fill(figures, self.timeline.origin(), progress);
        figures.refused_seconds = self.curves.refused_seconds;
        figures.orphaned = self.takeovers.count;
        figures.granted_by_old_master = self.availability.granted_by_old_masters();
        // What lasts at the end of the load has lasted until then.
        let length = self.timeline.length();
        let length = length.and_then(|length| i64::try_from(length.as_micros()).ok());
        let now = self.timeline.micros(Instant::now()).min(length.unwrap_or(i64::MAX));
        let (outages, consequences) = self.availability.outages_and_consequences(now);
        figures.contested = self.availability.contested;
        figures.outages = outages;
        figures.consequences.extend(consequences);
    }

    /// What was counted after the load had ended, while the workers finished.
    pub fn after_end(&self) -> Point {
        self.curves.after_end(&self.totals.after_end)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use strum::VariantArray;

    use super::*;
    use crate::collect::totals::Intakes;
    use lockstorm_data::metrics::{
        Count, Counts, DamagedList, Entry, NodeLoad, OrdersOf, Part, ProviderCall, Quantiles, ServerLoad, StalledFill,
        Time, When,
    };
    use lockstorm_data::model::{Cause, CauseKind, Outcome};

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

    fn figures(collector: &mut Collector) -> Figures {
        collector.collect();
        let elapsed = 2.0;
        filled(
            collector,
            Figures::default(),
            &Progress {
                elapsed,
                ..Progress::default()
            },
        )
    }

    fn filled(collector: &Collector, mut figures: Figures, progress: &Progress) -> Figures {
        collector.fill(&mut figures, progress);
        collector.totals.fill_times(&mut figures, None);
        figures
    }

    /// The requests in the series.
    fn completed(collector: &Collector) -> u64 {
        let series = &collector.curves.series;
        series.iter().map(|point| point.counts[Count::Completed]).sum()
    }

    fn begin_and_end(recorder: &Arc<Recorder>, part: Part) {
        begin_and_end_with(recorder, part, None);
    }

    fn begin_and_end_with(recorder: &Arc<Recorder>, part: Part, failure: Option<Count>) {
        let counter = recorder.of(part);
        counter.started(Duration::ZERO, false);
        counter.ended(Instant::now(), Instant::now(), failure);
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
        recorders[0].of(Part::Measured).voted_in_the_end(2, 3);
        let causes = [Some(Cause::Refused), None, Some(Cause::Error("OOM".to_owned()))];
        recorders[1]
            .of(Part::Measured)
            .refused(MS * 2, Outcome::NoQuorum, &causes);
        let figures = figures(&mut collector);
        assert_eq!((figures.outcomes.acquired, figures.outcomes.no_quorum), (2, 1));
        assert_eq!(
            (figures.counts[Count::Completed], figures.offered, figures.answered),
            (2, 2, 2)
        );
        assert_eq!((figures.votes_at_release[2], figures.votes_in_the_end[3]), (2, 2));
        assert_eq!(
            (figures.votes_in_the_end[2], figures.counts[Count::BareQuorums]),
            (1, 1)
        );
        assert_eq!(figures.acquire_us.count, 3);
        assert_eq!(
            (figures.times[Time::Acquired].count, figures.times[Time::NoQuorum].count),
            (2, 1)
        );
        assert!((figures.throughput - 1.0).abs() < 1e-9);
        let lacking: Vec<_> = collector.lacking.iter().map(|one| one.node).collect();
        assert_eq!(lacking, [1, 3]);
        assert_eq!(completed(&collector), 2);
    }

    #[test]
    fn a_second_that_has_ended_keeps_its_cause_when_locks_are_granted_again() {
        let (recorders, mut collector) = two();
        let counter = recorders[0].of(Part::Measured);
        counter.refused(MS, Outcome::NoQuorum, &[Some(Cause::Refused)]);
        collector.collect();
        let second = collector.curves.series.newest().expect("something happened").time;
        // In the second after that one, locks are granted again before the collector runs.
        counter.acquired(MS);
        collector.take_newest(&recorders[0].take());
        let ended = collector.curves.second_ended(When::Tenth((second + 1) * 10));
        let ended = ended.expect("a second has ended");
        assert_eq!((ended.acquired, ended.no_quorum), (0, 1));
        assert_eq!(collector.lacking, [], "all is well now");
        let down = NoVote {
            node: 1,
            cause: Cause::Refused,
        };
        assert_eq!(collector.last_lacking, [down]);
    }

    #[test]
    fn causes_are_counted_for_their_node() {
        let (recorders, mut collector) = two();
        let counter = recorders[0].of(Part::Measured);
        counter.refused(MS, Outcome::NoQuorum, &[None, Some(Cause::Timeout)]);
        counter.refused(MS, Outcome::NoQuorum, &[None, Some(Cause::Timeout)]);
        collector.collect();
        let node = |host| NodeLoad {
            host: Some(host),
            ..NodeLoad::default()
        };
        let before = Figures {
            nodes: vec![node(1), node(2)],
            ..Figures::default()
        };
        let figures = filled(&collector, before, &Progress::default());
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
        let server = |server| ServerLoad {
            server,
            ..ServerLoad::default()
        };
        let zero = Figures {
            votes_at_release: vec![0; 10],
            votes_in_the_end: vec![0; 10],
            servers: [1, 2].map(server).to_vec(),
            ..Figures::default()
        };
        assert_eq!(figures(&mut collector), zero);
        assert_eq!(completed(&collector), 0, "nor in the series");
    }

    #[test]
    fn requests_that_end_after_the_load_are_kept_apart_and_not_in_the_throughput() {
        let origin = Instant::now().checked_sub(HOUR).expect("the machine runs for an hour");
        let timeline = Timeline::from(origin);
        timeline.end(origin + Duration::from_secs(2));
        let (recorders, mut collector) = timed(timeline);
        begin_and_end(&recorders[0], Part::Measured);
        let figures = figures(&mut collector);
        assert_eq!((figures.counts[Count::Completed], figures.answered), (1, 1));
        assert!(figures.throughput.abs() < 1e-9, "{}", figures.throughput);
        assert_eq!(collector.after_end().counts[Count::Completed], 1);
        assert_eq!(
            collector.curves.series.iter().count(),
            0,
            "no second of the measured part"
        );
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
        let before = Figures {
            dropped: 5,
            ..Figures::default()
        };
        let servers = vec![intakes(false), intakes(true)];
        let figures = filled(
            &collector,
            before,
            &Progress {
                servers,
                ..Progress::default()
            },
        );
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
        begin_and_end_with(&recorders[0], Part::Measured, Some(Count::GaveUp));
        collector.collect();
        let progress = Progress {
            elapsed: 7200.0,
            is_done: true,
            ..Progress::default()
        };
        let done = filled(&collector, Figures::default(), &progress);
        let finish = done.finish.expect("it is done");
        assert!((3600.0..7200.0).contains(&finish), "{finish}");
        assert_eq!(
            (done.counts[Count::Completed], done.answered),
            (1, 0),
            "giving up is not an answer"
        );
        assert_eq!(
            filled(&collector, Figures::default(), &Progress::default()).finish,
            None
        );
    }

    #[test]
    fn sales_are_counted_in_the_second_of_their_own_time() {
        let (_, mut collector) = two();
        let mut news = News::default();
        let [orders, oversold, lost] = [Entry::Orders, Entry::Oversold, Entry::LostUpdates];
        let sales = |of, more, less| [(orders, of), (oversold, more), (lost, less)].into();
        news.tenths.insert(When::Tenth(13), sales(5, 0, 2));
        news.tenths.insert(When::Tenth(19), sales(1, 1, 0));
        news.tenths.insert(When::AfterEnd, sales(4, 0, 0));
        news.servers.insert(2, 10);
        let books = Books {
            of: Some(OrdersOf::Sales),
            entries: [(orders, 10), (oversold, 1), (lost, 1), (Entry::LostUpdatesPeak, 2)].into(),
            first_lost_us: Some(1_320_000),
            ..Books::default()
        };
        collector.audit(books, &news);
        let figures = filled(&collector, Figures::default(), &Progress::default());
        assert_eq!(
            [orders, oversold, lost, Entry::LostUpdatesPeak, Entry::Runs].map(|entry| figures.ledger[entry]),
            [Some(10), Some(1), Some(1), Some(2), None]
        );
        assert_eq!(figures.first_lost_at, Some(1.32));
        assert_eq!([0, 1].map(|server| figures.servers[server].orders), [0, 10]);
        let series = &collector.curves.series;
        let point = series.iter().find(|point| point.time == 1).expect("second 1");
        assert_eq!([orders, oversold, lost].map(|entry| point.ledger[entry]), [6, 1, 2]);
        assert_eq!(collector.after_end().ledger[orders], 4);
        let recent_tenths = &collector.curves.recent_tenths;
        let points: Vec<_> = recent_tenths
            .iter()
            .map(|point| (point.time, point.ledger[lost], point.ledger[oversold]))
            .collect();
        assert_eq!(points, [(13, 2, 0), (19, 0, 1)]);
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
        assert_eq!(figures(&mut collector).duplicate_pages, 4);
    }

    #[test]
    fn a_stalled_fill_explains_the_damage_of_its_list_in_the_versions_that_its_pages_may_be_in() {
        let (recorders, mut collector) = two();
        let counter = recorders[0].of(Part::Measured);
        for (key, version) in [(1, 4), (1, 5), (1, 6), (1, 7), (2, 5)] {
            counter.damaged_list(DamagedList {
                cache: 0,
                key,
                version,
                duplicate: 10,
                missing: version,
            });
        }
        let by_stalls = |collector: &mut Collector| {
            let figures = figures(collector);
            let all = (figures.duplicate_pages, figures.missing_pages);
            assert_eq!(all, (50, 27));
            (figures.duplicate_by_stalls, figures.missing_by_stalls)
        };
        assert_eq!(by_stalls(&mut collector), (0, 0));
        // Even if it began before the measured part.
        recorders[1].of(Part::WarmUp).stalled_fill(StalledFill {
            cache: 0,
            key: 1,
            versions: 5..=6,
        });
        assert_eq!(by_stalls(&mut collector), (20, 11));
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
            figures(&mut collector).db_hits_per_expiry.expiries,
            0,
            "it has not ended"
        );
        recorders[0].of(Part::Measured).refilled(call);
        let figures = figures(&mut collector);
        assert_eq!(
            (figures.counts[Count::DbHits], figures.db_hits_per_expiry.expiries),
            (2, 1)
        );
        assert_eq!(
            (figures.db_hits_per_expiry.max, figures.db_hits_per_expiry.beyond_one()),
            (2, 1)
        );
    }

    #[test]
    fn every_plain_count_reaches_figures_points_and_no_other_count() {
        for count in Count::VARIANTS {
            let (recorders, mut collector) = two();
            recorders[1].of(Part::Measured).count(*count);
            let (figures, expected) = (figures(&mut collector), Counts::from([(*count, 1)]));
            assert_eq!(figures.counts, expected);
            let mut points = Counts::default();
            collector
                .curves
                .series
                .iter()
                .for_each(|point| points.add(&point.counts));
            assert_eq!(points, expected);
        }
    }

    #[test]
    fn quantiles_that_are_known_are_taken_over_but_not_their_numbers() {
        let (_, mut collector) = two();
        let known = |collector: &Collector, earlier: Option<&Figures>| {
            let mut figures = Figures::default();
            collector.totals.fill_times(&mut figures, earlier);
            let Quantiles { count, max, .. } = figures.times[Time::Takeover];
            (figures, (count, max))
        };
        collector.totals.times(Time::Takeover, &[Duration::from_micros(100)]);
        let (first, told) = known(&collector, Some(&Figures::default()));
        assert_eq!(told, (1, 100), "nothing was known");
        collector.totals.times(Time::Takeover, &[Duration::from_micros(900)]);
        assert_eq!(known(&collector, Some(&first)).1, (2, 100));
        assert_eq!(known(&collector, None).1, (2, 900));
    }

    #[test]
    fn failures_are_counted_and_the_first_error_is_kept() {
        let (recorders, mut collector) = two();
        for error in ["disk full", "another"] {
            recorders[1].of(Part::Measured).saw_error(|| error.to_owned());
            begin_and_end_with(&recorders[1], Part::Measured, Some(Count::Errors));
        }
        assert_eq!(figures(&mut collector).counts[Count::Errors], 2);
        assert_eq!(collector.first_error.as_deref(), Some("disk full"));
    }
}
