use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::collect::arm_history::put;
use crate::collect::progress_limit::ProgressLimit;
use crate::oracle::stock::{Books, News, StockAudit};
use crate::store::{Order, Store, StoreError};
use crate::workload::{Cache, CacheError, batches, orders_in_cache, stock_sold_in_cache};
use lockstorm_base::monotonic_ns;
use lockstorm_base::output::Stream;
use lockstorm_data::history::{Operation, Sale};
use lockstorm_data::metrics::Timeline;
use lockstorm_data::scenario::{ArmSpec, Ledger, StockIn};

/// How often the ledger is read while the load runs.
const EVERY: Duration = Duration::from_millis(250);
/// How long to wait before a last read that failed is tried again.
const AGAIN: Duration = Duration::from_millis(100);
/// How many orders are read at once. Each such page counts as progress.
const PAGE: u32 = 10_000;

/// If every read has failed for this long, the books are lost.
const LOST: Duration = Duration::from_secs(2);
/// A database that has not answered for this long hangs.
const SILENT: Duration = Duration::from_secs(2);
/// How long the last read may take, or fail, if the read before it failed or hung already.
const LAST_TRY: Duration = Duration::from_secs(1);

/// Reads one arm's ledger through a connection of its own, which no worker uses.
#[derive(Debug)]
pub(crate) struct Auditor {
    source: Source,
    ledger: Ledger,
    audit: StockAudit,
    timeline: Arc<Timeline>,
    last_order: i64,
    board: Arc<Mutex<Board>>,
    /// Where the history of this arm goes, if there is one.
    history: Option<(Stream, Arc<ArmSpec>)>,
}

/// Where stock and orders are kept.
#[derive(Debug)]
enum Source {
    Database(Store),
    /// The cache node.
    Redis(Cache),
}

/// What an auditor shares with the run.
#[derive(Debug, Default)]
struct Board {
    /// As the newest read left them.
    books: Books,
    /// What was added to the books since the last [`LiveAudit::found`].
    news: News,
    /// How many pages have been read.
    pages: u64,
    /// Since when the auditor has been waiting for the present page.
    asked: Option<Instant>,
    /// Since when every read has failed, and the error of the first.
    failing: Option<(Instant, String)>,
    /// Why no later read can succeed.
    over: Option<String>,
}

/// A running auditor, with its newest result.
#[derive(Debug)]
pub(crate) struct LiveAudit {
    board: Arc<Mutex<Board>>,
    /// Cancelled when nobody sells any more.
    closing: CancellationToken,
    task: JoinHandle<Result<(), AuditError>>,
    /// Set once the books are being closed.
    limit: Option<ProgressLimit>,
}

/// Why the books could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuditError {
    #[error("the ledger: {0}")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error(
        "product, tick or account {product} has {units} units, but its last order in the ledger left {noted}: somebody else wrote"
    )]
    Contradiction { product: u64, noted: u64, units: u64 },
    #[error(
        "the database has crashed and started again, and may have forgotten its last sales: none that came later is counted"
    )]
    Crashed,
}

impl AuditError {
    /// Whether another read may succeed.
    const fn may_pass(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Cache(_))
    }
}

impl Auditor {
    pub fn new(
        ledger: Ledger,
        store: Store,
        cache: Cache,
        timeline: Arc<Timeline>,
        history: Option<(Stream, Arc<ArmSpec>)>,
    ) -> Self {
        Self {
            source: match ledger.stock_in {
                StockIn::Database => Source::Database(store),
                StockIn::Redis => Source::Redis(cache),
            },
            audit: StockAudit::new(ledger.of, ledger.products, ledger.stock),
            ledger,
            timeline,
            last_order: 0,
            board: Arc::default(),
            history,
        }
    }

    /// Reads the new orders of the ledger, page by page.
    async fn look(&mut self) -> Result<(), AuditError> {
        loop {
            self.ask();
            let orders: Vec<Order> = match &self.source {
                Source::Database(store) => store.orders_since(self.last_order, PAGE).await?,
                Source::Redis(cache) => orders_in_cache(self.last_order, PAGE, cache).await?,
            };
            self.still_remembers().await?;
            for order in &orders {
                self.audit.add(order, &self.timeline);
                self.tell(order);
                self.last_order = self.last_order.max(order.id);
            }
            self.publish();
            if orders.len() < PAGE as usize {
                return Ok(());
            }
        }
    }

    /// Writes an order to the history.
    fn tell(&self, order: &Order) {
        let (Some((stream, arm)), Some(origin)) = (&self.history, self.timeline.origin()) else {
            return;
        };
        let Ok(client) = order.worker().parse() else { return };
        let sale = Sale {
            client,
            arm: arm.name.clone(),
            product: order.product,
            order: order.id,
            // A sale writes back one unit less than it has read, and who adds to an account one more.
            read: match order.is_added() {
                true => order.units.saturating_sub(1),
                false => order.units.saturating_add(1),
            },
            written: order.units,
            at: monotonic_ns(origin).saturating_add(order.at_us.saturating_mul(1000)),
        };
        put(stream, &Operation::Sale(sale));
    }

    /// Reads the rest of the ledger once nobody sells any more, and compares it with the stock.
    async fn close(&mut self) -> Result<(), AuditError> {
        self.look().await?;
        // A run sells only a few of a million products, so only those are read.
        let (mut left, stock) = (Vec::new(), self.ledger.stock);
        for products in batches(self.ledger.products) {
            self.ask();
            left.extend(match &self.source {
                Source::Database(store) => store.stock_other_than(stock, products).await?,
                Source::Redis(cache) => stock_sold_in_cache(stock, products, cache).await?,
            });
            lock(&self.board).pages += 1;
        }
        self.still_remembers().await?;
        match self.audit.contradiction(&left) {
            None => Ok(()),
            Some((product, noted, units)) => Err(AuditError::Contradiction { product, noted, units }),
        }
    }

    /// Fails if what was read so far may come from after a crash. The cache node does not start again under the same run.
    async fn still_remembers(&self) -> Result<(), AuditError> {
        match &self.source {
            Source::Database(store) if store.has_crashed().await? => Err(AuditError::Crashed),
            Source::Database(_) | Source::Redis(_) => Ok(()),
        }
    }

    /// Notes that the auditor waits for a page from now on.
    fn ask(&self) {
        lock(&self.board).asked = Some(Instant::now());
    }

    fn publish(&mut self) {
        let mut board = lock(&self.board);
        board.pages += 1;
        board.books = self.audit.books;
        board.news.add(self.audit.news());
    }

    /// Notes since when every read has failed.
    fn note(&self, error: Option<String>) {
        let mut board = lock(&self.board);
        board.asked = None;
        match error {
            None => board.failing = None,
            Some(error) => {
                board.failing.get_or_insert_with(|| (Instant::now(), error));
            }
        }
    }

    /// Reads again and again until `closing` is cancelled, then reads the rest. A read that fails is tried again until the
    /// run gives up; a contradiction and a crash are final.
    async fn work(mut self, closing: CancellationToken) -> Result<(), AuditError> {
        while !closing.is_cancelled() {
            let looked = self.look().await.err();
            self.note(looked.as_ref().map(ToString::to_string));
            if let Some(error) = looked.filter(|error| !error.may_pass()) {
                lock(&self.board).over = Some(error.to_string());
                closing.cancelled().await;
                return Err(error);
            }
            tokio::select! {
                () = sleep(EVERY) => {}
                () = closing.cancelled() => {}
            }
        }
        loop {
            match self.close().await {
                Err(error) if error.may_pass() => self.note(Some(error.to_string())),
                closed => return closed,
            }
            sleep(AGAIN).await;
        }
    }

    /// Starts reading again and again, on the current runtime.
    pub fn start(self) -> LiveAudit {
        let (board, closing) = (Arc::clone(&self.board), CancellationToken::new());
        LiveAudit {
            board,
            task: tokio::spawn(self.work(closing.clone())),
            closing,
            limit: None,
        }
    }
}

fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LiveAudit {
    /// Takes the books as the newest read left them, and what was added to them since the last call.
    pub fn found(&self) -> (Books, News) {
        let mut board = lock(&self.board);
        (board.books, std::mem::take(&mut board.news))
    }

    /// Why the books can't be read, if every read has failed for so long that the database, or the cache node that keeps
    /// the stock, must be lost. A store that does not answer is not lost: it may recover.
    pub fn lost(&self) -> Option<String> {
        let board = lock(&self.board);
        if board.over.is_some() {
            return board.over.clone();
        }
        let (since, why) = board.failing.as_ref()?;
        (since.elapsed() >= LOST).then(|| why.clone())
    }

    /// How long the auditor has been waiting for a page, if that is too long for a healthy database.
    pub fn silent(&self) -> Option<Duration> {
        let waited = lock(&self.board).asked?.elapsed();
        (waited >= SILENT).then_some(waited)
    }

    /// Whether reads fail or hang.
    pub fn is_ill(&self) -> bool {
        lock(&self.board).failing.is_some() || self.silent().is_some()
    }

    /// Ends the regular reads and reads the rest of the ledger, as long as that makes progress. [`LiveAudit::closed`]
    /// returns the result.
    pub fn close(&mut self, now: Instant) {
        self.closing.cancel();
        let quiet = if self.is_ill() { LAST_TRY } else { ProgressLimit::QUIET };
        self.limit = Some(ProgressLimit::new(now, quiet));
    }

    /// Leaves it only a last try from now on.
    pub fn hurry(&mut self, now: Instant) {
        if let Some(limit) = &mut self.limit {
            limit.hurry(now, LAST_TRY);
        }
    }

    /// Once the books are closed or given up: whether they are complete, or why not. `None` while the rest is being read.
    pub async fn closed(&mut self, now: Instant) -> Option<Result<(), String>> {
        if self.task.is_finished() {
            // It has ended, so this does not wait.
            return Some(match (&mut self.task).await {
                Ok(closed) => closed.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            });
        }
        let limit = self.limit.as_mut()?;
        let board = lock(&self.board);
        let quiet = limit.moved(board.pages, now);
        // Reads that fail are given up sooner than reads that are only slow.
        let failing = board.failing.as_ref();
        let fails_on = failing.is_some_and(|(since, _)| now.saturating_duration_since(*since) >= LAST_TRY)
            && now.saturating_duration_since(limit.began) >= LAST_TRY;
        if !fails_on && !limit.is_over(now) {
            return None;
        }
        self.task.abort();
        let whole = Duration::from_secs(quiet.as_secs().max(1));
        let silent = || format!("no answer within {}", humantime::format_duration(whole));
        Some(Err(failing.map_or_else(silent, |(_, why)| why.clone())))
    }
}
