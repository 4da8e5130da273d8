use std::sync::Arc;

use hdrhistogram::Histogram;

use crate::metrics::{Count, Expiries, Figures, Point, Quantiles, Recorder, Series, Tally, histogram};
use crate::model::Outcomes;
use crate::oracle::Books;

/// Gathers what the recorders of one arm counted, into totals and into one point a second.
#[derive(Debug)]
pub(super) struct Collector {
    recorders: Vec<Arc<Recorder>>,
    /// A cleared tally that is exchanged for a full one, and cleared again.
    spare: Tally,
    total: Totals,
    second: Totals,
    second_number: i64,
    expiries: Expiries,
    series: Arc<Series>,
    books: Books,
    /// What the books said when the measured part began.
    books_before: Books,
    /// What they said when the second under way began.
    books_at_second: Books,
    newest_votes: Option<(usize, usize)>,
    trouble: Option<String>,
    first_error: Option<String>,
}

/// What is summed over a stretch of time.
#[derive(Debug)]
struct Totals {
    outcomes: Outcomes,
    votes: [u64; 10],
    acquire: Histogram<u64>,
    response: Histogram<u64>,
    hold: Histogram<u64>,
    counts: Vec<(Count, u64)>,
    db_hits: u64,
}

/// The counts that [`Figures`] shows.
const COUNTED: [Count; 13] = [
    Count::Completed,
    Count::Late,
    Count::SoldOut,
    Count::Hit,
    Count::StaleRead,
    Count::GaveUp,
    Count::DuplicatePage,
    Count::MissingPage,
    Count::LockLost,
    Count::Aborted,
    Count::Fenced,
    Count::Error,
    Count::Order,
];

impl Totals {
    fn new() -> Self {
        Self {
            outcomes: Outcomes::default(),
            votes: [0; 10],
            acquire: histogram(),
            response: histogram(),
            hold: histogram(),
            counts: COUNTED.map(|count| (count, 0)).to_vec(),
            db_hits: 0,
        }
    }

    fn add(&mut self, tally: &Tally) {
        self.outcomes.add(&tally.outcomes);
        for (sum, votes) in self.votes.iter_mut().zip(tally.votes) {
            *sum += votes;
        }
        for (sum, part) in [
            (&mut self.acquire, &tally.acquire),
            (&mut self.response, &tally.response),
            (&mut self.hold, &tally.hold),
        ] {
            if !part.is_empty() {
                // Both resize by themselves, so that no value is out of range.
                let _ = sum.add(part);
            }
        }
        for (count, sum) in &mut self.counts {
            *sum += tally.count(*count);
        }
        self.db_hits += tally.provider_calls.len() as u64;
    }

    fn count(&self, wanted: Count) -> u64 {
        self.counts
            .iter()
            .find(|(count, _)| *count == wanted)
            .map_or(0, |(_, sum)| *sum)
    }

    fn clear(&mut self) {
        self.outcomes = Outcomes::default();
        self.votes = [0; 10];
        for histogram in [&mut self.acquire, &mut self.response, &mut self.hold] {
            histogram.reset();
        }
        for (_, sum) in &mut self.counts {
            *sum = 0;
        }
        self.db_hits = 0;
    }
}

/// How an arm's lock fared in a second that has just ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SecondEnded {
    pub outcomes: Outcomes,
}

impl Collector {
    pub fn new(recorders: Vec<Arc<Recorder>>) -> Self {
        Self {
            recorders,
            spare: Tally::default(),
            total: Totals::new(),
            second: Totals::new(),
            second_number: i64::MIN,
            expiries: Expiries::default(),
            series: Arc::new(Series::default()),
            books: Books::default(),
            books_before: Books::default(),
            books_at_second: Books::default(),
            newest_votes: None,
            trouble: None,
            first_error: None,
        }
    }

    /// Takes in what was counted since the last call, as part of this second. Says how the last second went if it has ended.
    pub fn collect(&mut self, second: i64) -> Option<SecondEnded> {
        let ended = (second != self.second_number && self.second_number != i64::MIN).then(|| {
            self.put_point();
            SecondEnded {
                outcomes: self.second.outcomes,
            }
        });
        if second != self.second_number {
            self.second.clear();
            self.second_number = second;
            self.books_at_second = self.books;
        }
        for recorder in &self.recorders {
            let full = recorder.swap(std::mem::take(&mut self.spare));
            self.total.add(&full);
            self.second.add(&full);
            for call in &full.provider_calls {
                self.expiries.count(*call);
            }
            self.newest_votes = full.newest_votes.or(self.newest_votes);
            if self.first_error.is_none() {
                self.first_error.clone_from(&full.first_error);
            }
            if full.trouble.is_some() {
                self.trouble.clone_from(&full.trouble);
            } else if full.outcomes.acquired > 0 {
                self.trouble = None;
            }
            self.spare = full;
            self.spare.clear();
        }
        self.put_point();
        ended
    }

    /// Takes in the newest books.
    pub const fn audit(&mut self, books: Books) {
        self.books = books;
    }

    /// Takes in the books as they were closed after the load.
    pub fn close_books(&mut self, books: Books) {
        self.books = books;
        self.put_point();
    }

    /// Forgets what was counted so far: the measured part begins.
    pub fn measure(&mut self, second: i64) {
        self.collect(second);
        self.total.clear();
        self.second.clear();
        self.first_error = None;
        self.expiries = Expiries::default();
        self.books_before = self.books;
        self.books_at_second = self.books;
        self.put_point();
    }

    /// The figures of the measured part, `elapsed` seconds long so far; `offered` comes from the pacer and `held` from the locks.
    #[allow(clippy::cast_precision_loss)] // counts beyond 2^53 do not occur in a run
    pub fn figures(&self, elapsed: f64, offered: u64, held: (u64, u64)) -> Figures {
        let total = &self.total;
        let completed = total.count(Count::Completed);
        let books = since(&self.books, &self.books_before);
        Figures {
            outcomes: total.outcomes,
            votes: total.votes.to_vec(),
            acquire_us: Quantiles::of(&total.acquire),
            response_us: Quantiles::of(&total.response),
            hold_us: Quantiles::of(&total.hold),
            offered,
            completed,
            late: total.count(Count::Late),
            throughput: if elapsed > 0.0 { completed as f64 / elapsed } else { 0.0 },
            orders: books.orders,
            oversold: books.oversold,
            lost_updates: books.lost_updates,
            sold_out: total.count(Count::SoldOut),
            db_hits: total.db_hits,
            db_hits_per_expiry: self.expiries.hits_per_expiry(),
            hits: total.count(Count::Hit),
            stale_reads: total.count(Count::StaleRead),
            gave_up: total.count(Count::GaveUp),
            duplicate_pages: total.count(Count::DuplicatePage),
            missing_pages: total.count(Count::MissingPage),
            locks_lost: total.count(Count::LockLost),
            aborted: total.count(Count::Aborted),
            fenced: total.count(Count::Fenced),
            errors: total.count(Count::Error),
            holding: held.0,
            partial: held.1,
        }
    }

    pub fn series(&self) -> Arc<Series> {
        self.series.clone()
    }

    pub const fn newest_votes(&self) -> Option<(usize, usize)> {
        self.newest_votes
    }

    pub const fn trouble(&self) -> Option<&String> {
        self.trouble.as_ref()
    }

    /// Why the first failed request of the measured part failed.
    pub const fn first_error(&self) -> Option<&String> {
        self.first_error.as_ref()
    }

    pub const fn books(&self) -> &Books {
        &self.books
    }

    fn put_point(&mut self) {
        let (second, books) = (&self.second, since(&self.books, &self.books_at_second));
        let (acquire, response) = (Quantiles::of(&second.acquire), Quantiles::of(&second.response));
        let point = Point {
            second: self.second_number,
            outcomes: second.outcomes,
            acquire_p50_us: acquire.p50,
            acquire_p99_us: acquire.p99,
            response_p50_us: response.p50,
            response_p99_us: response.p99,
            completed: second.count(Count::Completed),
            orders: books.orders,
            oversold: books.oversold,
            lost_updates: books.lost_updates,
            db_hits: second.db_hits,
            stale_reads: second.count(Count::StaleRead),
        };
        // Snapshots that are being drawn keep the series they have.
        Arc::make_mut(&mut self.series).put(point);
    }
}

/// What was added to the books since `before`. Lost updates can fall while a sale is under way, but never below zero.
const fn since(now: &Books, before: &Books) -> Books {
    Books {
        orders: now.orders.saturating_sub(before.orders),
        oversold: now.oversold.saturating_sub(before.oversold),
        lost_updates: now.lost_updates.saturating_sub(before.lost_updates),
        sold_out: now.sold_out,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::ProviderCall;
    use crate::model::Outcome;

    const MS: Duration = Duration::from_millis(1);

    fn two() -> (Vec<Arc<Recorder>>, Collector) {
        let recorders = vec![Arc::new(Recorder::new()), Arc::new(Recorder::new())];
        (recorders.clone(), Collector::new(recorders))
    }

    #[test]
    fn app_servers_add_up_and_seconds_are_apart() {
        let (recorders, mut collector) = two();
        collector.measure(0);
        for recorder in &recorders {
            recorder.acquired(MS);
            recorder.voted(3, 3);
            recorder.completed(MS * 5);
        }
        assert_eq!(collector.collect(0), None);
        recorders[0].refused(MS * 2, Outcome::NoQuorum, Some("node 1 refused".to_owned()));
        let ended = collector.collect(1).expect("second 0 is over");
        assert_eq!(ended.outcomes.acquired, 2);
        let figures = collector.figures(2.0, 7, (1, 0));
        assert_eq!((figures.outcomes.acquired, figures.outcomes.no_quorum), (2, 1));
        assert_eq!((figures.completed, figures.offered, figures.holding), (2, 7, 1));
        assert_eq!(figures.acquire_us.count, 3);
        assert!((figures.throughput - 1.0).abs() < 1e-9);
        assert_eq!(collector.trouble().map(String::as_str), Some("node 1 refused"));
        let points: Vec<_> = collector
            .series()
            .iter()
            .map(|point| (point.second, point.outcomes.total()))
            .collect();
        assert_eq!(points, [(0, 2), (1, 1)]);
    }

    #[test]
    fn warm_up_is_not_counted() {
        let (recorders, mut collector) = two();
        collector.collect(-1);
        recorders[0].acquired(MS);
        recorders[0].count(Count::Hit);
        recorders[0].provider_call(ProviderCall {
            cache: 0,
            key: 1,
            supersedes: 4,
        });
        collector.audit(Books {
            orders: 5,
            oversold: 2,
            lost_updates: 3,
            sold_out: false,
        });
        collector.measure(0);
        let figures = collector.figures(1.0, 0, (0, 0));
        assert_eq!(
            figures,
            Figures {
                votes: vec![0; 10],
                ..Figures::default()
            }
        );
        collector.audit(Books {
            orders: 9,
            oversold: 2,
            lost_updates: 4,
            sold_out: true,
        });
        recorders[1].provider_call(ProviderCall {
            cache: 0,
            key: 1,
            supersedes: 8,
        });
        collector.collect(0);
        let figures = collector.figures(1.0, 0, (0, 0));
        assert_eq!((figures.orders, figures.oversold, figures.lost_updates), (4, 0, 1));
        assert_eq!((figures.db_hits, figures.db_hits_per_expiry.max), (1, 1));
    }

    #[test]
    fn every_plain_count_reaches_its_figure_and_no_other() {
        type Read = fn(&Figures) -> u64;
        let table: [(Count, Read); 11] = [
            (Count::Late, |f| f.late),
            (Count::SoldOut, |f| f.sold_out),
            (Count::Hit, |f| f.hits),
            (Count::StaleRead, |f| f.stale_reads),
            (Count::GaveUp, |f| f.gave_up),
            (Count::DuplicatePage, |f| f.duplicate_pages),
            (Count::MissingPage, |f| f.missing_pages),
            (Count::LockLost, |f| f.locks_lost),
            (Count::Aborted, |f| f.aborted),
            (Count::Fenced, |f| f.fenced),
            (Count::Error, |f| f.errors),
        ];
        for (count, read) in table {
            let (recorders, mut collector) = two();
            recorders[1].count(count);
            collector.collect(0);
            let figures = collector.figures(1.0, 0, (0, 0));
            for (other, read_other) in table {
                assert_eq!(
                    read_other(&figures),
                    u64::from(other == count),
                    "{count:?} seen as {other:?}"
                );
            }
            assert_eq!(read(&figures), 1);
        }
    }
}
